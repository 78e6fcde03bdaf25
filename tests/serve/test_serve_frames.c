/* test_serve_frames.c - frames and jobs: there and back, cut anywhere, and what is none. */
#include "check.h"

#include "serve/protocol/frame.h"

#include <string.h>

static void there_and_back(void **state)
{
    (void)state;
    const s2_job_parts parts = { .json = { (const uint8_t *)"{}", 2 },
                                 .blob = { { (const uint8_t *)"abc", 3 },
                                           { (const uint8_t *)"", 0 } },
                                 .n_blobs = 2 };
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    s2_job_encode(S2_FRAME_JOB, &parts, 0x1234567890ull, &out);
    assert_int_equal(out.status, S2P_OK);
    for (size_t n = 0; n <= out.size; n++) { /* a frame that is not whole is no error */
        s2_frame frame;
        size_t used = 7;
        assert_int_equal(s2_frame_parse(out.data, n, &frame, &used, NULL), S2P_OK);
        assert_int_equal(used, n == out.size ? out.size : 0);
    }
    s2_frame frame;
    size_t used;
    assert_int_equal(s2_frame_parse(out.data, out.size, &frame, &used, NULL), S2P_OK);
    assert_int_equal(frame.type, S2_FRAME_JOB);
    assert_true(frame.request == 0x1234567890ull);
    s2_job_parts again;
    assert_int_equal(s2_job_decode(frame.payload, frame.n, &again, NULL), S2P_OK);
    assert_int_equal(again.n_blobs, 2);
    assert_int_equal(again.blob[0].n, 3);
    assert_memory_equal(again.blob[0].data, "abc", 3);
    assert_int_equal(again.blob[1].n, 0);
    for (size_t n = 0; n < frame.n; n++) { /* but a job that is cut is none, unless at a seam */
        const bool is_seam = n == 6 || n == 13;
        assert_int_equal(s2_job_decode(frame.payload, n, &again, NULL),
                         is_seam ? S2P_OK : S2P_EFORMAT);
    }
    s2_buffer_free(&out);
}

static void refusals(void **state)
{
    (void)state;
    uint8_t header[S2_FRAME_HEADER];
    s2_frame frame;
    size_t used;
    s2p_error error;
    for (int type = 0; type < 256; type++) {
        s2_frame_header((s2_frame_type)type, 1, 0, header);
        const bool is_known = type >= S2_FRAME_JOB && type <= S2_FRAME_BEAT;
        assert_int_equal(s2_frame_parse(header, sizeof header, &frame, &used, &error),
                         is_known ? S2P_OK : S2P_EFORMAT);
    }
    s2_frame_header(S2_FRAME_TEXT, 1, S2_FRAME_MAX + 1, header);
    assert_int_equal(s2_frame_parse(header, sizeof header, &frame, &used, &error), S2P_ELIMIT);
    for (int i = 5; i < 8; i++) {
        s2_frame_header(S2_FRAME_TEXT, 1, 0, header);
        header[i] = 1;
        assert_int_equal(s2_frame_parse(header, sizeof header, &frame, &used, &error), S2P_EFORMAT);
    }
    uint8_t many[4 * (S2_JOB_MAX_BLOBS + 2)] = { 0 };
    s2_job_parts parts;
    assert_int_equal(s2_job_decode(many, sizeof many - 4, &parts, NULL), S2P_OK);
    assert_int_equal(s2_job_decode(many, sizeof many, &parts, NULL), S2P_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(there_and_back),
                                        cmocka_unit_test(refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
