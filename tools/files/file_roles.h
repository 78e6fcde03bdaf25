/* file_roles.h - no output of a command replaces what a person owns.
 *
 * The tables of options say which values name inputs and which outputs. Before a command starts,
 * its outputs are compared with its inputs and with each other, by device and inode, so that links
 * do not hide that two names are one file. Files a command finds by itself (the bundled model, a
 * picture of a conversation) are compared where they are known, with s2_file_id.
 */
#ifndef S2_TOOLS_FILE_ROLES_H
#define S2_TOOLS_FILE_ROLES_H

#include "options.h"

#include <sys/types.h>

/* S2P_EINVAL: an output that is also an input, or written twice, or named like another format. */
s2p_status s2_file_roles_check(const s2_command *command, const void *values, s2p_error *error);

typedef struct s2_file_id { /* one file, whatever its name */
    bool is_known;
    dev_t device;
    ino_t inode;
} s2_file_id;

s2_file_id s2_file_id_of(const char *path); /* unknown: not there, standard input */
bool s2_file_id_same(s2_file_id a, s2_file_id b);

/* Whether a file can be made or replaced under that name; nothing is changed. S2P_EIO: it cannot. */
s2p_status s2_file_check_writable(const char *source, const char *path, s2p_error *error);

#endif /* S2_TOOLS_FILE_ROLES_H */
