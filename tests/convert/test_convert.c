/* test_convert.c - checkpoints become GGUF pairs: the right values in the right places.
 *
 * Small checkpoints are made here; what must come out is worked out again with plain loops. Writes
 * that fail and memory that runs out, each in turn, must leave nothing behind.
 */
#define _GNU_SOURCE /* O_TMPFILE */

#include "checkpoint_maker.h"
#include "failing_malloc.h"

#include "convert/convert.h"
#include "gguf/gguf.h"

#include <errno.h>
#include <fcntl.h>

static char folder[512]; /* where we work */

static const char *in(const char *name)
{
    static char path[16][600];
    static int next;
    char *out = path[next = (next + 1) % 16];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

/* --- writes that fail --------------------------------------------------------------------------
 */

static int writes_left = -1; /* calls that still succeed; negative: all do */
static int write_failure;    /* errno of the one that does not; 0: it writes one byte only */
static int n_interrupted;

static bool has_no_unnamed; /* a file system without files that have no name */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE; /* more than one bit */
    const mode_t mode = flags & O_CREAT || is_unnamed ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!has_no_unnamed || !is_unnamed) return __real_open(path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
}

ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    if (writes_left < 0 || writes_left-- > 0) return __real_write(fd, data, n);
    if (write_failure == EINTR) writes_left = 1; /* every second call */
    if (write_failure == 0) return __real_write(fd, data, n > 1 ? n / 2 : n);
    n_interrupted++;
    errno = write_failure;
    return -1;
}

int __wrap_fsync(int fd)
{
    if (writes_left == 0 && write_failure == EIO) {
        errno = EIO;
        return -1;
    }
    return __real_fsync(fd);
}

/* --- a conversion ------------------------------------------------------------------------------
 */

static s2p_status convert(const char *type, bool verify, s2v_convert_result *result,
                          s2p_error *error)
{
    char from[600], model[600], mmproj[600];
    (void)snprintf(from, sizeof from, "%s/from", folder);
    (void)snprintf(model, sizeof model, "%s/to/m.gguf", folder);
    (void)snprintf(mmproj, sizeof mmproj, "%s/to/mm.gguf", folder);
    s2v_convert_options o = { .folder = from, .outfile = model, .mmproj_out = mmproj };
    o.verify = verify;
    o.codec = s2v_block_codec();
    while (strcmp(s2v_convert_type_name(o.type), type) != 0) o.type++;
    return s2v_convert(&o, result, error);
}

static void make(const maker *m)
{
    make_checkpoint(m, in("from"));
    (void)mkdir(in("to"), 0777);
    (void)maker_empty(in("to"));
}

static void must_convert(const maker *m, const char *type, s2v_convert_result *result)
{
    s2p_error error = { S2P_OK, "" };
    make(m);
    const s2p_status st = convert(type, true, result, &error);
    CHECK_CASE(st == S2P_OK, "%s", error.message);
}

static s2v_gguf *open_gguf(const char *path)
{
    s2v_gguf *file = NULL;
    s2p_error error;
    const s2p_status st = s2v_gguf_open(&file, path, &error);
    CHECK_CASE(st == S2P_OK, "%s: %s", path, error.message);
    return file;
}

/* The source's values: the maker's generator, from its start. */
static float next_value(uint32_t *seed)
{
    return (float)(next_random(seed) & 0xffff) / 32768.0f - 1.0f;
}

static float float_at(const s2v_gguf_tensor *t, size_t i)
{
    float value;
    memcpy(&value, t->data + 4 * i, 4);
    return value;
}

/* --- tests ---------------------------------------------------------------------------------------
 */

static void test_values(void **state)
{
    (void)state;
    s2v_convert_result result;
    must_convert(&(maker){ .kind = MAKE_QWEN2_5 }, "f32", &result);
    assert_string_equal(result.architecture, "Qwen2.5-VL");
    assert_int_equal(result.text.n_tensors, 27);
    assert_int_equal(result.vision.n_tensors, 2 * 16 + 7);
    s2v_gguf *file = open_gguf(in("to/m.gguf"));
    uint32_t seed = 7;
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, "output.weight");
    assert_non_null(t);
    assert_int_equal(t->ne[0], 32);
    assert_int_equal(t->ne[1], 8);
    for (size_t i = 0; i < 256; i++) assert_true(float_at(t, i) == next_value(&seed));
    t = s2v_gguf_find_tensor(file, "token_embd.weight");
    assert_non_null(t);
    for (size_t i = 0; i < 256; i++) assert_true(float_at(t, i) == next_value(&seed));
    assert_non_null(s2v_gguf_find_tensor(file, "blk.1.attn_v.bias"));
    assert_null(s2v_gguf_find_tensor(file, "blk.2.attn_v.bias"));
    s2v_gguf_close(file);
}

/* qkv in thirds, the two kernels of a film; the values are found by counting from the end. */
static void test_splits(void **state)
{
    (void)state;
    s2v_convert_result result;
    must_convert(&(maker){ .kind = MAKE_QWEN2_5 }, "f32", &result);
    s2v_gguf *file = open_gguf(in("to/mm.gguf"));
    enum {
        TEXT = 2 * 256 + 2 * (32 + 3 * 2048 + 32 + 16 + 512 + 1024 + 32 + 1024 + 16 + 512) + 32
    };
    uint32_t seed = 7;
    for (int i = 0; i < TEXT + 16 + 256; i++)
        (void)next_value(&seed); /* up to block 0's qkv bias */
    static const char *const names[] = { "v.blk.0.attn_q.bias",   "v.blk.0.attn_k.bias",
                                         "v.blk.0.attn_v.bias",   "v.blk.0.attn_q.weight",
                                         "v.blk.0.attn_k.weight", "v.blk.0.attn_v.weight" };
    for (int part = 0; part < 6; part++) {
        const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, names[part]);
        assert_non_null(t);
        assert_int_equal(t->ne[0], 16);
        assert_int_equal(t->ne[1], part < 3 ? 1 : 16);
        for (size_t i = 0; i < (part < 3 ? 16u : 256u); i++)
            assert_true(float_at(t, i) == next_value(&seed));
    }
    const s2v_gguf_tensor *first = s2v_gguf_find_tensor(file, "v.patch_embd.weight");
    const s2v_gguf_tensor *second = s2v_gguf_find_tensor(file, "v.patch_embd.weight.1");
    assert_non_null(first);
    assert_non_null(second);
    static const int64_t ne[] = { 2, 2, 3, 16 };
    for (int d = 0; d < 4; d++) assert_int_equal(first->ne[d], ne[d]);
    const int block = 4 * 16 + 256 + 768 + 3 * 384 + 2 * 24; /* proj, qkv, norms, mlp: 1 of 2 */
    const int merger = 16 + 64 + 4096 + 32 + 2048;
    seed = 7;
    for (int i = 0; i < TEXT + 2 * (block + 48 + 16 - 16) + merger; i++) (void)next_value(&seed);
    for (size_t square = 0; square < 48; square++) {
        for (size_t i = 0; i < 4; i++)
            assert_true(float_at(first, 4 * square + i) == next_value(&seed));
        for (size_t i = 0; i < 4; i++)
            assert_true(float_at(second, 4 * square + i) == next_value(&seed));
    }
    s2v_gguf_close(file);
}

/* Limits of pictures: as older files and newer ones write them; none is invented. */
static void test_picture_limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t low, high; /* -1: no key */
    } cases[] = {
        { ",\"min_pixels\":3136,\"max_pixels\":451584", 3136, 451584 },
        { ",\"size\":{\"shortest_edge\":3136,\"longest_edge\":12845056}", 3136, 12845056 },
        { ",\"max_pixels\":1000,\"size\":{\"longest_edge\":9}", -1, 1000 },
        { ",\"min_pixels\":null", -1, -1 },
        { NULL, -1, -1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_convert_result result;
        must_convert(&(maker){ .kind = MAKE_QWEN2_5, .pixel_limits = cases[i].text }, "f16",
                     &result);
        s2v_gguf *file = open_gguf(in("to/mm.gguf"));
        int64_t low = -1, high = -1;
        (void)s2v_gguf_int(file, "clip.vision.image_min_pixels", &low);
        (void)s2v_gguf_int(file, "clip.vision.image_max_pixels", &high);
        CHECK_CASE(low == cases[i].low && high == cases[i].high, "%zu: %lld, %lld", i,
                   (long long)low, (long long)high);
        s2v_gguf_close(file);
    }
}

static void test_keys(void **state)
{
    (void)state;
    s2v_convert_result result;
    must_convert(&(maker){ .kind = MAKE_QWEN2_5 }, "f16", &result);
    s2v_gguf *file = open_gguf(in("to/m.gguf"));
    static const struct {
        const char *name;
        int64_t value;
    } ints[] = { { "qwen2vl.block_count", 2 },
                 { "qwen2vl.context_length", 1000 },
                 { "qwen2vl.embedding_length", 32 },
                 { "qwen2vl.feed_forward_length", 64 },
                 { "qwen2vl.attention.head_count", 2 },
                 { "qwen2vl.attention.head_count_kv", 1 },
                 { "general.file_type", 1 },
                 { "tokenizer.ggml.eos_token_id", 5 },
                 { "tokenizer.ggml.bos_token_id", 4 },
                 { "tokenizer.ggml.padding_token_id", 4 } };
    int64_t value;
    for (size_t i = 0; i < COUNT_OF(ints); i++) {
        CHECK_CASE(s2v_gguf_int(file, ints[i].name, &value), "%s", ints[i].name);
        CHECK_CASE(value == ints[i].value, "%s: %lld", ints[i].name, (long long)value);
    }
    static const char *const tokens[] = {
        "a", "b", "ab", "\xc4\xa0", "<|endoftext|>", "<|im_end|>", "<tool>", "[PAD7]"
    };
    static const int64_t types[] = { 1, 1, 1, 1, 3, 3, 4, 5 };
    const s2v_gguf_key *list = s2v_gguf_find_key(file, "tokenizer.ggml.tokens");
    const s2v_gguf_key *kinds = s2v_gguf_find_key(file, "tokenizer.ggml.token_type");
    assert_non_null(list);
    assert_non_null(kinds);
    size_t cursor = 0;
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        s2v_text text;
        assert_true(s2v_gguf_next_string(list, &cursor, &text));
        assert_int_equal(text.size, strlen(tokens[i]));
        assert_memory_equal(text.data, tokens[i], text.size);
        assert_true(s2v_gguf_item_int(kinds, i, &value));
        assert_int_equal(value, types[i]);
    }
    s2v_text text;
    bool add = true;
    assert_true(s2v_gguf_string(file, "tokenizer.chat_template", &text));
    assert_memory_equal(text.data, "{{ x }}", 7);
    assert_true(s2v_gguf_string(file, "general.name", &text));
    assert_memory_equal(text.data, "from", 4); /* the folder's */
    assert_true(s2v_gguf_bool(file, "tokenizer.ggml.add_bos_token", &add));
    assert_false(add);
    s2v_gguf_close(file);
    file = open_gguf(in("to/mm.gguf"));
    assert_true(s2v_gguf_int(file, "clip.vision.n_wa_pattern", &value));
    assert_int_equal(value, 2);
    s2v_gguf_close(file);
}

static uint32_t type_of(const s2v_gguf *file, const char *name)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, name);
    CHECK_CASE(t != NULL, "%s", name);
    return t->type;
}

/* llama.cpp's choices: vectors F32, patch kernels F16 or F32, rows of 24 no blocks of 32. */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        uint32_t matrix, patch, odd, file_type;
    } cases[] = { { "f32", 0, 0, 0, 0 },
                  { "f16", 1, 1, 1, 1 },
                  { "bf16", 30, 0, 30, 32 },
                  { "q8_0", 8, 0, 1, 7 } };
    static const char *const sources[] = { "F32", "F16", "BF16" };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t s = 0; s < COUNT_OF(sources); s++) {
            s2v_convert_result result;
            must_convert(&(maker){ .kind = MAKE_LLAVA, .dtype = sources[s] }, cases[i].type,
                         &result);
            assert_int_equal(result.n_ignored, 2); /* the tower's last norm */
            s2v_gguf *text = open_gguf(in("to/m.gguf")), *vision = open_gguf(in("to/mm.gguf"));
            int64_t file_type;
            assert_true(s2v_gguf_int(text, "general.file_type", &file_type));
            assert_int_equal(file_type, cases[i].file_type);
            assert_int_equal(type_of(text, "blk.0.attn_q.weight"), cases[i].matrix);
            assert_int_equal(type_of(text, "blk.0.attn_q.bias"), 0);
            assert_int_equal(type_of(text, "output_norm.weight"), 0);
            assert_int_equal(type_of(vision, "v.patch_embd.weight"), cases[i].patch);
            assert_int_equal(type_of(vision, "v.position_embd.weight"), 0);
            assert_int_equal(type_of(vision, "v.image_newline"), 0);
            assert_int_equal(type_of(vision, "v.blk.1.ffn_down.weight"), cases[i].odd);
            s2v_gguf_close(text);
            s2v_gguf_close(vision);
        }
}

static void read_whole(const char *path, writer *out)
{
    FILE *file = fopen(path, "rb");
    uint8_t bytes[4096];
    out->n = 0;
    assert_non_null(file);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) put_bytes(out, bytes, n);
    fclose(file);
}

static void expect_same_files(const writer *model, const writer *mmproj)
{
    writer other = { 0 };
    read_whole(in("to/m.gguf"), &other);
    assert_int_equal(other.n, model->n);
    assert_memory_equal(other.data, model->data, model->n);
    read_whole(in("to/mm.gguf"), &other);
    assert_int_equal(other.n, mmproj->n);
    assert_memory_equal(other.data, mmproj->data, mmproj->n);
    free(other.data);
}

/* Both layouts, one file or several, threads or not: the same pair. */
static void test_layouts(void **state)
{
    (void)state;
    for (int kind = MAKE_QWEN2_5; kind <= MAKE_LLAVA; kind++) {
        writer model = { 0 }, mmproj = { 0 };
        for (int variant = 0; variant < 4; variant++) {
            s2v_convert_result result;
            const maker m = { .kind = (maker_kind)kind,
                              .is_nested = variant & 1,
                              .n_shards = variant & 2 ? 3 : 0 };
            must_convert(&m, "f16", &result);
            assert_int_equal(result.n_files, m.n_shards ? 3 : 1);
            if (variant == 0) {
                read_whole(in("to/m.gguf"), &model);
                read_whole(in("to/mm.gguf"), &mmproj);
            } else {
                expect_same_files(&model, &mmproj);
            }
        }
        free(model.data);
        free(mmproj.data);
    }
}

static void test_families(void **state)
{
    (void)state;
    static const struct {
        maker_kind kind;
        const char *architecture, *text, *projector, *has, *has_not;
    } cases[] = {
        { MAKE_QWEN2_5, "Qwen2.5-VL", "qwen2vl", "qwen2.5vl_merger", "v.blk.0.ffn_gate.weight",
          "v.blk.0.ln1.bias" },
        { MAKE_QWEN2, "Qwen2-VL", "qwen2vl", "qwen2vl_merger", "v.post_ln.bias",
          "v.blk.0.ffn_gate.weight" },
        { MAKE_LLAVA, "LLaVA-OneVision", "qwen2", "mlp", "v.image_newline", "v.post_ln.weight" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_convert_result result;
        s2v_text text;
        must_convert(&(maker){ .kind = cases[i].kind }, "f32", &result);
        assert_string_equal(result.architecture, cases[i].architecture);
        s2v_gguf *model = open_gguf(in("to/m.gguf")), *mmproj = open_gguf(in("to/mm.gguf"));
        assert_true(s2v_gguf_string(model, "general.architecture", &text));
        assert_int_equal(text.size, strlen(cases[i].text));
        assert_true(s2v_gguf_string(mmproj, "clip.projector_type", &text));
        assert_int_equal(text.size, strlen(cases[i].projector));
        assert_memory_equal(text.data, cases[i].projector, text.size);
        assert_non_null(s2v_gguf_find_tensor(mmproj, cases[i].has));
        assert_null(s2v_gguf_find_tensor(mmproj, cases[i].has_not));
        s2v_gguf_close(model);
        s2v_gguf_close(mmproj);
    }
}

/* Without an output matrix the embedding is it, when the configuration allows. */
static void test_tied(void **state)
{
    (void)state;
    const maker_edit edit = { "config.json", "\"tie_word_embeddings\":false",
                              "\"tie_word_embeddings\":true" };
    s2v_convert_result result;
    s2p_error error = { S2P_OK, "" };
    must_convert(&(maker){ .has_no_head = true, .edit = &edit }, "f32", &result);
    assert_int_equal(result.text.n_tensors, 26);
    make(&(maker){ .has_no_head = true });
    assert_int_equal(convert("f32", false, &result, &error), S2P_EFORMAT);
    assert_non_null(strstr(error.message, "output.weight"));
    assert_int_equal(maker_empty(in("to")), 0);
}

/* The n-th write fails, for every n: a status, no file, the old one as it was. */
static void fail_each_write(int failure)
{
    int n = 0;
    maker_write(in("to"), "m.gguf", "old", 3);
    for (;; n++) {
        s2v_convert_result result;
        s2p_error error = { S2P_OK, "" };
        write_failure = failure;
        writes_left = n;
        const s2p_status st = convert("f16", true, &result, &error);
        const int left = writes_left;
        writes_left = -1;
        if (left >= 0 && st == S2P_OK) break; /* that was all of them */
        CHECK_CASE(st == S2P_EIO && result.write_errno == failure, "write %d: %s", n,
                   error.message);
        writer old = { 0 };
        read_whole(in("to/m.gguf"), &old);
        assert_int_equal(old.n, 3);
        free(old.data);
        assert_int_equal(maker_empty(in("to")), 1);
        maker_write(in("to"), "m.gguf", "old", 3);
    }
    assert_true(n > 50);
    assert_int_equal(maker_empty(in("to")), 2); /* the pair of the last round, nothing else */
}

static void test_write_failures(void **state)
{
    (void)state;
    make(&(maker){ .kind = MAKE_QWEN2_5 });
    for (int i = 0; i < 2; i++) {
        has_no_unnamed = i;
        fail_each_write(ENOSPC);
        fail_each_write(EDQUOT);
        fail_each_write(EIO);
    }
    has_no_unnamed = false;
}

/* Interrupted and short writes are no failures. */
static void test_slow_writes(void **state)
{
    (void)state;
    s2v_convert_result first, second;
    s2p_error error = { S2P_OK, "" };
    must_convert(&(maker){ .kind = MAKE_LLAVA }, "q8_0", &first);
    write_failure = EINTR;
    writes_left = 1;
    n_interrupted = 0;
    assert_int_equal(convert("q8_0", true, &second, &error), S2P_OK);
    assert_true(n_interrupted > 50);
    assert_memory_equal(first.text.sha256, second.text.sha256, 32);
    write_failure = 0;
    writes_left = 0;
    assert_int_equal(convert("q8_0", true, &second, &error), S2P_OK);
    writes_left = -1;
    assert_memory_equal(first.text.sha256, second.text.sha256, 32);
    assert_memory_equal(first.vision.sha256, second.vision.sha256, 32);
}

static void test_memory(void **state)
{
    (void)state;
    make(&(maker){ .kind = MAKE_QWEN2_5, .n_shards = 2 });
    int n = 0;
    for (;; n++) {
        s2v_convert_result result;
        s2p_error error = { S2P_OK, "" };
        allocations_left = n;
        const s2p_status st = convert("bf16", true, &result, &error);
        const int left = allocations_left;
        allocations_left = -1;
        if (left >= 0) {
            assert_int_equal(st, S2P_OK);
            break;
        }
        /* a name that cannot be made is a file that is not there: some of them are not needed */
        CHECK_CASE(st != S2P_OK || n < 20, "allocation %d", n);
        assert_int_equal(maker_empty(in("to")), st == S2P_OK ? 2 : 0);
    }
    assert_true(n > 20);
}

static int stop_at_half(const char *step, double done, void *user)
{
    (void)step;
    (void)user;
    return done > 0.5;
}

static void test_refusals(void **state)
{
    (void)state;
    s2v_convert_result result;
    s2p_error error = { S2P_OK, "" };
    make(&(maker){ .kind = MAKE_QWEN2_5 });
    s2v_convert_options o = { .folder = in("from"), .outfile = in("to/m.gguf"), .type = 1 };
    assert_int_equal(s2v_convert(&o, &result, &error), S2P_EINVAL);
    o.mmproj_out = o.outfile;
    assert_int_equal(s2v_convert(&o, &result, &error), S2P_EINVAL);
    o.mmproj_out = in("to/mm.gguf");
    o.type = 9;
    assert_int_equal(s2v_convert(&o, &result, &error), S2P_EINVAL);
    o.type = 1;
    o.progress = stop_at_half;
    assert_int_equal(s2v_convert(&o, &result, &error), S2P_ECANCELLED);
    assert_int_equal(maker_empty(in("to")), 0);
    o.progress = NULL;
    o.mmproj_out = in("no-such-folder/mm.gguf");
    assert_int_equal(s2v_convert(&o, &result, &error), S2P_EIO);
    assert_int_equal(result.write_errno, ENOENT);
    o.mmproj_out = in("to"); /* a folder */
    assert_int_equal(s2v_convert(&o, &result, &error), S2P_EIO);
    assert_int_equal(maker_empty(in("to")), 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    (void)snprintf(folder, sizeof folder, "%s", argv[1]);
    (void)mkdir(folder, 0777);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_splits),
        cmocka_unit_test(test_keys),           cmocka_unit_test(test_picture_limits),
        cmocka_unit_test(test_types),          cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_families),       cmocka_unit_test(test_tied),
        cmocka_unit_test(test_write_failures), cmocka_unit_test(test_slow_writes),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
