/* changed_pair.h - a good pair, and what the engine says when one of its files is changed. */
#ifndef TESTS_CHANGED_PAIR_H
#define TESTS_CHANGED_PAIR_H

#include "tiny_run.h"

#define N_LAYERS 2 /* every kind of tensor, in files that are written quickly */

static const char *folder;
static tiny_file text_file, mmproj_file; /* good */
static tiny_file changed;
static s2v_engine *good;

static inline int open_good(void **state)
{
    (void)state;
    vocabulary_init(&tiny_words);
    tiny_text(&text_file, &tiny_words, N_LAYERS);
    tiny_mmproj(&mmproj_file, N_LAYERS);
    tiny_write_pair(folder, "good", &text_file, &mmproj_file);
    good = tiny_open();
    return 0;
}

static inline int close_good(void **state)
{
    (void)state;
    s2v_engine_close(good);
    return 0;
}

/* What opening says when one of the two files is `changed`. */
static inline s2p_status open_changed(bool is_text, s2v_engine **engine, s2p_error *error)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/changed.gguf", folder);
    tiny_write(&changed, path);
    s2v_engine_options options = tiny_options();
    *(is_text ? &options.model_path : &options.mmproj_path) = path;
    *error = (s2p_error){ S2P_OK, "" };
    const s2p_status st = s2v_engine_open(engine, &options, error);
    assert_true(st == S2P_OK ? *engine != NULL : *engine == NULL && error->message[0]);
    return st;
}

/* Open it, prefill, take three tokens; what comes out without complaint is finite. */
static inline s2p_status prefill_changed(bool is_text, const question *q, s2p_error *error)
{
    s2v_engine *engine;
    CHECK_CASE(open_changed(is_text, &engine, error) == S2P_OK, "%s", error->message);
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    s2p_status st = prefill(session, q, NULL, error);
    int done;
    char text[64];
    for (int i = 0; st == S2P_OK && i < 3; i++)
        st = s2v_session_next(session, text, sizeof text, &done, error);
    for (int i = 0; st == S2P_OK && i < N_VOCABULARY; i++)
        assert_true(isfinite(s2v_session_logits(session)[i]));
    s2v_session_free(session);
    s2v_engine_close(engine);
    return st;
}

#endif /* TESTS_CHANGED_PAIR_H */
