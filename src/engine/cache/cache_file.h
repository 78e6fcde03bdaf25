/* cache_file.h - a folder of blocks that outlive a process.
 *
 * A block is one file, named by its key: a head, the bytes, and in the head the SHA-256 of
 * both. It is written beside its name and renamed, so a name stands for a whole file or for
 * none; a process that is killed leaves a file nobody looks for, which the next writer removes.
 * Writers hold a lock on the folder: together they never exceed its limit, and what was not
 * used for longest goes first. Readers need no lock. The folder is the user's alone (0700), and
 * so are its files (0600). A file is believed only if every byte of it is as it was written.
 */
#ifndef S2_ENGINE_CACHE_FILE_H
#define S2_ENGINE_CACHE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S2V_KEY_BYTES 32         /* of a block: SHA-256 of what it was made from */
#define S2V_CACHE_FILE_HEAD 96   /* bytes before the block */
#define S2V_CACHE_FILE_VERSION 1 /* of the head and of all blocks; another one is refused */

typedef struct s2v_cache_folder s2v_cache_folder;

/* Made where it is missing, its parent is not. Refused when it is somebody else's or others may
 * write to it. */
s2p_status s2v_cache_folder_open(s2v_cache_folder **out, const char *path, uint64_t max_bytes,
                                 s2p_error *error);
void s2v_cache_folder_close(s2v_cache_folder *folder); /* NULL is fine */

/* Of all blocks, when a file was last written or the folder opened. */
uint64_t s2v_cache_folder_bytes(const s2v_cache_folder *folder);

typedef struct s2v_cache_reader { /* a file whose head is right */
    int fd;
    size_t n; /* bytes of the block */
    uint8_t head[S2V_CACHE_FILE_HEAD];
} s2v_cache_reader;

/* S2P_OK: there is such a file, to be read or dropped. S2P_EIO without a sentence: there is none.
 * S2P_EFORMAT: there is one, and it is not to be believed. */
s2p_status s2v_cache_file_open(const s2v_cache_folder *folder, const uint8_t *key,
                               s2v_cache_reader *out, s2p_error *error);
/* The block, [n] out; S2P_EFORMAT unless all is as it was written. Closes the file. */
s2p_status s2v_cache_file_read(s2v_cache_reader *reader, uint8_t *block, s2p_error *error);
void s2v_cache_file_drop(s2v_cache_reader *reader);

/* Keep a block: what is older makes room. One larger than the limit is not kept, and that is no
 * error. */
s2p_status s2v_cache_file_write(s2v_cache_folder *folder, const uint8_t *key, const uint8_t *block,
                                size_t n, s2p_error *error);

/* The head of a file of n_file bytes, for the block of this key; *n: bytes of the block. */
s2p_status s2v_cache_head_check(const uint8_t head[S2V_CACHE_FILE_HEAD], uint64_t n_file,
                                const uint8_t *key, size_t *n, s2p_error *error);

/* The head of a block. */
void s2v_cache_head_make(const uint8_t *key, const uint8_t *block, size_t n,
                         uint8_t head[S2V_CACHE_FILE_HEAD]);

#endif /* S2_ENGINE_CACHE_FILE_H */
