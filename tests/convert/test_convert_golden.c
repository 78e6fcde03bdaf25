/* test_convert_golden.c FOLDER GOLDENS - the published layouts against other programs' files; exit 77
 * when there are none. */
#include "check.h"

#include "convert/convert.h"
#include "gguf/gguf.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *folder, *goldens; /* where we work, and where the others' files are */

static const char *in(const char *name)
{
    static char path[16][600];
    static int next;
    char *out = path[next = (next + 1) % 16];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static s2v_gguf *open_gguf(const char *path)
{
    s2v_gguf *file = NULL;
    s2p_error error;
    const s2p_status st = s2v_gguf_open(&file, path, &error);
    CHECK_CASE(st == S2P_OK, "%s: %s", path, error.message);
    return file;
}

/* The other file has one block more, which guesses the token after the next: all the rest is the same. */
static void expect_without_guess(const char *ours, const char *golden)
{
    s2v_gguf *a = open_gguf(ours), *b = open_gguf(golden);
    size_t n_same = 0;
    for (size_t i = 0; i < s2v_gguf_n_tensors(b); i++) {
        const s2v_gguf_tensor *want = s2v_gguf_tensor_at(b, i);
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)want->name.size, want->name.data);
        if (strncmp(name, "blk.8.", 6) == 0) continue;
        const s2v_gguf_tensor *got = s2v_gguf_find_tensor(a, name);
        CHECK_CASE(got && got->type == want->type && got->n_bytes == want->n_bytes &&
                       memcmp(got->data, want->data, (size_t)want->n_bytes) == 0,
                   "%s: %s", golden, name);
        n_same++;
    }
    assert_int_equal(n_same, s2v_gguf_n_tensors(a));
    s2v_gguf_close(a);
    s2v_gguf_close(b);
}

static void expect_golden(const char *ours, const char *golden)
{
    s2v_gguf *a = open_gguf(ours), *b = open_gguf(golden);
    if (s2v_gguf_find_tensor(
            b, "blk.8.nextn.eh_proj.weight")) { /* and the file of all but that block */
        s2v_gguf_close(a);
        s2v_gguf_close(b);
        expect_without_guess(ours, golden);
        return;
    }
    assert_int_equal(s2v_gguf_n_tensors(a), s2v_gguf_n_tensors(b));
    size_t n_limits = 0; /* of pictures, which llama.cpp's converter leaves out */
    n_limits += s2v_gguf_find_key(a, "clip.vision.image_min_pixels") != NULL;
    n_limits += s2v_gguf_find_key(a, "clip.vision.image_max_pixels") != NULL;
    assert_int_equal(s2v_gguf_n_keys(a), s2v_gguf_n_keys(b) + n_limits);
    for (size_t i = 0; i < s2v_gguf_n_tensors(b); i++) {
        const s2v_gguf_tensor *want = s2v_gguf_tensor_at(b, i);
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)want->name.size, want->name.data);
        const s2v_gguf_tensor *got = s2v_gguf_find_tensor(a, name);
        CHECK_CASE(got != NULL, "%s: %s is missing", golden, name);
        CHECK_CASE(got->type == want->type && got->n_dims == want->n_dims &&
                       memcmp(got->ne, want->ne, sizeof got->ne) == 0,
                   "%s: %s has another type or shape", golden, name);
        CHECK_CASE(memcmp(got->data, want->data, (size_t)want->n_bytes) == 0, "%s: %s", golden,
                   name);
    }
    for (size_t i = 0; i < s2v_gguf_n_keys(b); i++) {
        const s2v_gguf_key *want = s2v_gguf_key_at(b, i);
        char name[128];
        (void)snprintf(name, sizeof name, "%.*s", (int)want->name.size, want->name.data);
        const s2v_gguf_key *got = s2v_gguf_find_key(a, name);
        /* llama.cpp's converter writes the output width of Qwen2-VL's tower there. */
        if (strcmp(name, "clip.vision.feed_forward_length") == 0 && got &&
            s2v_gguf_find_tensor(b, "v.post_ln.bias"))
            continue;
        CHECK_CASE(got && got->type == want->type && got->n_bytes == want->n_bytes &&
                       memcmp(got->value, want->value, want->n_bytes) == 0,
                   "%s: key %s", golden, name);
    }
    s2v_gguf_close(a);
    s2v_gguf_close(b);
}

/* The mmproj of LLaVA-1.5 is made by an old script: fc1 is ffn_down and fc2 ffn_up there, and some
 * matrices are halves whatever was asked for. Tensors of one type have the same values. */
static void expect_legacy(const char *ours, const char *golden)
{
    s2v_gguf *a = NULL, *b = NULL;
    size_t n_same = 0;
    assert_int_equal(s2v_gguf_open(&a, ours, NULL), S2P_OK);
    assert_int_equal(s2v_gguf_open(&b, golden, NULL), S2P_OK);
    assert_int_equal(s2v_gguf_n_tensors(a), s2v_gguf_n_tensors(b));
    for (size_t i = 0; i < s2v_gguf_n_tensors(b); i++) {
        const s2v_gguf_tensor *want = s2v_gguf_tensor_at(b, i);
        char name[128];
        (void)snprintf(name, sizeof name, "%.*s", (int)want->name.size, want->name.data);
        char *up = strstr(name, "ffn_up."), *down = strstr(name, "ffn_down.");
        char end[32], spelt[256];
        (void)snprintf(end, sizeof end, "%s", up ? up + 7 : down ? down + 9 : "");
        if (up || down) *(up ? up : down) = '\0';
        (void)snprintf(spelt, sizeof spelt, "%s%s%s", name,
                       up     ? "ffn_down."
                       : down ? "ffn_up."
                              : "",
                       end);
        const s2v_gguf_tensor *got = s2v_gguf_find_tensor(a, spelt);
        CHECK_CASE(got != NULL, "%s is missing", spelt);
        if (got->type != want->type) continue;
        CHECK_CASE(got->n_bytes == want->n_bytes &&
                       memcmp(got->data, want->data, (size_t)want->n_bytes) == 0,
                   "%s", spelt);
        n_same++;
    }
    assert_true(n_same > 40);
    s2v_gguf_close(a);
    s2v_gguf_close(b);
}

static void test_goldens(void **state)
{
    (void)state;
    static const char *const models[][3] = {
        { "hf", "qwen25vl", "tiny-qwen2.5-vl" },   { "hf", "llava_ov", "tiny-llava-onevision" },
        { "families", "qwen2vl", "tiny-qwen2vl" }, { "families", "qwen3vl", "tiny-qwen3vl" },
        { "families", "llava15", "tiny-llava15" }, { "families", "internvl3", "tiny-internvl3" },
        { "families", "smolvlm", "tiny-smolvlm" }, { "families", "gemma3", "tiny-gemma3" },
        { "families", "qwen35", "tiny-qwen35" }
    };
    static const char *const type[] = { "f32", "f16" };
    for (size_t i = 0; i < 2 * COUNT_OF(models); i++) {
        const char *const *model = models[i / 2];
        char base[600], from[700], golden[800];
        (void)snprintf(base, sizeof base, "%.400s/%s/%s", goldens, model[0], model[1]);
        (void)snprintf(from, sizeof from, "%s/model", base);
        s2v_convert_options o = { .folder = from,
                                  .outfile = in("golden-m.gguf"),
                                  .mmproj_out = in("golden-mm.gguf"),
                                  .name = model[2],
                                  .type = i % 2,
                                  .verify = true };
        s2v_convert_result result;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2v_convert(&o, &result, &error);
        CHECK_CASE(st == S2P_OK, "%s: %s", from, error.message);
        for (int mm = 0; mm < 2; mm++) {
            (void)snprintf(golden, sizeof golden, "%s/gguf/%s%s-%s.gguf", base, mm ? "mmproj-" : "",
                           model[2], type[i % 2]);
            if (mm && strcmp(model[1], "llava15") == 0)
                expect_legacy(o.mmproj_out, golden);
            else
                expect_golden(mm ? o.mmproj_out : o.outfile, golden);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    folder = argv[1];
    goldens = argv[2];
    char path[700];
    (void)snprintf(path, sizeof path, "%s/hf/qwen25vl/model", goldens);
    if (access(path, R_OK) != 0) {
        printf("skipped: no checkpoint at %s\n", path);
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_goldens) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
