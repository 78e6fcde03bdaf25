/* cache_file.h - a folder of cache blocks that persist between processes.
 *
 * A block is one file, named by its key: a header and the bytes; the header has the SHA-256 of
 * both. It is written to a temporary file and renamed, so a name never refers to a partial
 * file; if a process is killed, the next writer removes its temporary file.
 * Writers hold a lock on the folder: together they never exceed its limit, and the least
 * recently used blocks are removed first. Readers need no lock. Only the user can access the folder
 * (0700) and its files (0600). A file is used only if its checksum matches.
 */
#ifndef S2_ENGINE_CACHE_FILE_H
#define S2_ENGINE_CACHE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S2V_KEY_BYTES 32         /* of a block: SHA-256 of what it was made from */
#define S2V_CACHE_FILE_HEAD 96   /* bytes of the header */
#define S2V_CACHE_FILE_VERSION 1 /* of the header and of all blocks; other versions are refused */

typedef struct s2v_cache_folder s2v_cache_folder;

/* Created if it is missing, but not its parent. Refused if it belongs to another user or others
 * can write to it. */
s2p_status s2v_cache_folder_open(s2v_cache_folder **out, const char *path, uint64_t max_bytes,
                                 s2p_error *error);
void s2v_cache_folder_close(s2v_cache_folder *folder); /* NULL is fine */

/* Total of all blocks when a file was last written or the folder was opened. */
uint64_t s2v_cache_folder_bytes(const s2v_cache_folder *folder);

typedef struct s2v_cache_reader { /* a file with a valid header */
    int fd;
    size_t n; /* bytes of the block */
    uint8_t head[S2V_CACHE_FILE_HEAD];
} s2v_cache_reader;

/* S2P_OK: the file exists, to be read or dropped. S2P_EIO without a message: it does not exist.
 * S2P_EFORMAT: it is damaged. */
s2p_status s2v_cache_file_open(const s2v_cache_folder *folder, const uint8_t *key,
                               s2v_cache_reader *out, s2p_error *error);
/* The block, [n] out; S2P_EFORMAT if the checksum does not match. Closes the file. */
s2p_status s2v_cache_file_read(s2v_cache_reader *reader, uint8_t *block, s2p_error *error);
void s2v_cache_file_drop(s2v_cache_reader *reader);

/* Store a block, evicting older ones. A block larger than the limit is not stored, which is not
 * an error. */
s2p_status s2v_cache_file_write(s2v_cache_folder *folder, const uint8_t *key, const uint8_t *block,
                                size_t n, s2p_error *error);

/* Check the header of a file of n_file bytes, for the block of this key; *n: bytes of the block. */
s2p_status s2v_cache_head_check(const uint8_t head[S2V_CACHE_FILE_HEAD], uint64_t n_file,
                                const uint8_t *key, size_t *n, s2p_error *error);

/* Write the header of a block. */
void s2v_cache_head_make(const uint8_t *key, const uint8_t *block, size_t n,
                         uint8_t head[S2V_CACHE_FILE_HEAD]);

#endif /* S2_ENGINE_CACHE_FILE_H */
