/* plugin.h - methods in a shared object that links to no library: it gets a table of functions (s2p_host). */
#ifndef S2_ASK_PLUGIN_H
#define S2_ASK_PLUGIN_H

#include "base/error.h"
#include "s2prune.h"

typedef struct s2a_plugin s2a_plugin;

/* Called for each method while the plug-in is loaded; strings and arrays of the definition are borrowed.
 * hash: SHA-256 of the file, hexadecimal. If a method is refused, loading fails. */
typedef s2p_status (*s2a_plugin_adder)(void *user, const s2p_method_definition *definition,
                                       const char *version, const char *hash, s2p_error *error);

/* S2P_EIO, S2P_EFORMAT: no such file, or not a plug-in; the message names the path. *out holds the code
 * and may be set on failure too: close it after the methods it added. */
s2p_status s2a_plugin_load(const char *path, s2a_plugin_adder add, void *user, s2a_plugin **out,
                           s2p_error *error);
void s2a_plugin_close(s2a_plugin *plugin); /* NULL is fine */

/* The path it was loaded from. */
const char *s2a_plugin_path(const s2a_plugin *plugin);

#endif /* S2_ASK_PLUGIN_H */
