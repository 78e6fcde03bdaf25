/* test_engine_refuse_families.c - the refusals of test_engine_refuse.c for the files of every other
 * family: keys and tensors left out, of another type or shape, values that cannot be, two files that
 * do not belong together. Nothing aborts, and each refusal is a sentence. */
#include "refused_pair.h"
#include "tiny_families.h"

static tiny_family family;
static size_t n_changed;

static int open_family(void **state)
{
    (void)state;
    tiny_family_files(family, &text_file, &mmproj_file);
    tiny_write_pair(folder, "good", &text_file, &mmproj_file);
    good = tiny_open();
    return 0;
}

/* --- values ------------------------------------------------------------------------- */

/* Refused with a sentence, or it runs and what comes out is finite or named as damaged. */
static void survive_changed(bool is_text, const char *key, double value)
{
    question q = one_picture("s2prune", 3);
    if (!tiny_family_has_size(family)) q.size[0].width = q.size[0].height = 0;
    s2v_engine *engine;
    s2p_error error;
    n_changed++;
    s2p_status st = open_changed(is_text, &engine, &error);
    s2v_engine_close(engine);
    if (st == S2P_OK) st = prefill_changed(is_text, &q, &error);
    CHECK_CASE(st == S2P_OK || (error.status == st && error.message[0]), "%s as %g: %d '%s'", key,
               value, (int)st, error.message);
    CHECK_CASE(st == S2P_OK || st == S2P_EFORMAT || st == S2P_EUNSUPPORTED || st == S2P_ELIMIT ||
                   st == S2P_EBUDGET || st == S2P_EINVAL || st == S2P_ENOMEM,
               "%s as %g: %d '%s'", key, value, (int)st, error.message);
}

/* Every number of both files, alone or in a list, is zero, negative, huge or none. */
static void test_values_that_cannot_be(void **state)
{
    (void)state;
    static const double integers[] = { 0, -1, 3, 1 << 16, 2147483648.0, -9e18 };
    static const double floats[] = { 0, -1, 1e30, NAN, INFINITY };
    n_changed = 0;
    for (int is_text = 0; is_text < 2; is_text++) {
        const tiny_file *file = is_text ? &text_file : &mmproj_file;
        for (size_t i = 0; i < file->n_keys; i++) {
            const tiny_key *key = &file->key[i];
            const uint64_t type = key->type == ARRAY ? key->item : key->type;
            if (type == STRING || type == BOOL) continue;
            const double *value = type == F32 ? floats : integers;
            const size_t n_values = type == F32 ? COUNT_OF(floats) : COUNT_OF(integers);
            for (uint64_t at = 0; at < key->n; at++)
                for (size_t v = 0; v < n_values; v++) {
                    changed = *file;
                    if (type != F32)
                        *(key->type == ARRAY ? &changed.key[i].item : &changed.key[i].type) = I64;
                    changed.key[i].value[at] = value[v];
                    survive_changed(is_text, key->name, value[v]);
                }
        }
    }
    print_message("%s: %zu files\n", tiny_family_name[family], n_changed);
}

/* Lists of every length but their own, and of another type. */
static void test_lists(void **state)
{
    (void)state;
    for (int is_text = 0; is_text < 2; is_text++) {
        const tiny_file *file = is_text ? &text_file : &mmproj_file;
        for (size_t i = 0; i < file->n_keys; i++) {
            const tiny_key *key = &file->key[i];
            if (key->type != ARRAY) continue;
            const bool is_sections = strstr(key->name, "dimension_sections") != NULL;
            for (uint64_t n = 0; n <= 8; n++) {
                changed = *file;
                changed.key[i].n = n;
                if (n == key->n || (is_sections && n == 3)) continue; /* the fourth is zero */
                refuse_changed(is_text, "with another length", key->name);
            }
            if (strstr(key->name, "feature_layer")) continue; /* one number is as good */
            changed = *file;
            changed.key[i].type = changed.key[i].item; /* a number instead */
            changed.key[i].n = 1;
            refuse_changed(is_text, "as a number", key->name);
        }
    }
}

/* --- keys of one family ------------------------------------------------------------- */

typedef struct wrong_key {
    bool is_text;
    const char *key;
    double value;
    const char *says;
} wrong_key;

static void refuse_keys(const wrong_key *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        changed = cases[i].is_text ? text_file : mmproj_file;
        tiny_key *key = NULL;
        for (size_t k = 0; k < changed.n_keys; k++)
            if (strcmp(changed.key[k].name, cases[i].key) == 0) key = &changed.key[k];
        if (key)
            key->value[0] = cases[i].value;
        else
            tiny_number(&changed, cases[i].key, I32, cases[i].value);
        refuse_changed(cases[i].is_text, cases[i].key, cases[i].says);
    }
}

static void test_keys_of_qwen3(void **state)
{
    (void)state;
    static const wrong_key cases[] = {
        { true, "qwen3vl.attention.key_length", 0, "key_length" },
        { true, "qwen3vl.attention.key_length", 15, "a head of 15 values" },
        { true, "qwen3vl.attention.key_length", 18, "adds up to 8 pairs, expected 9" },
        { true, "qwen3vl.attention.key_length", 1026, "key_length" },
        { true, "qwen3vl.attention.value_length", 8, "value_length is 8, but a head has 16" },
        { true, "qwen3vl.rope.dimension_count", 8, "rope.dimension_count is 8" },
        { true, "qwen3vl.n_deepstack_layers", 4, "n_deepstack_layers" },
        { true, "qwen3vl.n_deepstack_layers", 1, "deepstack" },
        { true, "qwen3vl.n_deepstack_layers", 0, "deepstack" },
        { true, "qwen3vl.attention.head_count_kv", 3, "do not divide" },
        { false, "clip.vision.is_deepstack_layers", 0, "deepstack" },
        { false, "clip.vision.spatial_merge_size", 3, "spatial_merge_size" },
    };
    refuse_keys(cases, COUNT_OF(cases));
    changed = mmproj_file; /* learned positions that are no square, and too many */
    tiny_find_tensor(&changed, "v.position_embd.weight")->ne[1] = QWEN3_SIDE * QWEN3_SIDE - 1;
    refuse_changed(false, "no square:", "v.position_embd.weight");
    changed = mmproj_file; /* the mergers of two blocks, one of which does not exist */
    tiny_key *is_deepstack = tiny_find_key(&changed, "clip.vision.is_deepstack_layers");
    is_deepstack->value[1] = 1;
    is_deepstack->value[2] = 0;
    refuse_changed(false, "without a merger of block 1:", "v.deepstack.1.");
}

/* Counts of experts that cannot be; a router and experts that are missing or of other numbers. */
static void test_keys_of_experts(void **state)
{
    (void)state;
    const char *name = tiny_find_key(&text_file, "general.architecture")->text;
    static const struct {
        const char *key;
        double value;
    } cases[] = { { "expert_count", 0 },
                  { "expert_count", -1 },
                  { "expert_count", EXPERTS_N + 1 },
                  { "expert_count", 1e9 },
                  { "expert_used_count", 0 },
                  { "expert_used_count", EXPERTS_N + 1 },
                  { "expert_used_count", -3 },
                  { "expert_feed_forward_length", 0 },
                  { "expert_feed_forward_length", EXPERTS_FF * 2 },
                  { "expert_feed_forward_length", 1e12 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s.%s", name, cases[i].key);
        changed = text_file;
        tiny_find_key(&changed, key)->value[0] = cases[i].value;
        refuse_changed(true, key, "exp");
    }
    static const char *const tensors[] = { "blk.0.ffn_gate_inp.weight",
                                           "blk.1.ffn_gate_exps.weight",
                                           "blk.1.ffn_down_exps.weight" };
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        changed = text_file;
        tiny_tensor *t = tiny_find_tensor(&changed, tensors[i]);
        t->ne[t->n_dims - 1]--;
        refuse_changed(true, "with one expert less:", tensors[i]);
    }
}

static void test_keys_of_qwen35(void **state)
{
    (void)state;
    static const wrong_key cases[] = {
        { true, "qwen35.full_attention_interval", 0, "full_attention_interval" },
        { true, "qwen35.full_attention_interval", QWEN35_LAYERS + 1, "full_attention_interval" },
        { true, "qwen35.full_attention_interval", 3, "blk.1.attn_qkv.weight" },
        { true, "qwen35.ssm.conv_kernel", 1, "conv_kernel" },
        { true, "qwen35.ssm.conv_kernel", 5, "ssm_conv1d" },
        { true, "qwen35.ssm.state_size", 16, "ssm has 2 key heads, and 6 value heads of 16" },
        { true, "qwen35.ssm.group_count", 4, "ssm has 4 key heads" },
        { true, "qwen35.ssm.time_step_rank", 1025, "time_step_rank" },
        { true, "qwen35.ssm.inner_size", 47, "in 47" },
        { true, "qwen35.rope.dimension_count", 15, "rope.dimension_count is 15" },
        { true, "qwen35.rope.dimension_count", 34, "rope.dimension_count is 34" },
        { true, "qwen35.rope.dimension_count", 32, "adds up to 8 pairs, expected 16" },
        { true, "qwen35.nextn_predict_layers", QWEN35_LAYERS, "nextn_predict_layers" },
        { true, "qwen35.nextn_predict_layers", -1, "nextn_predict_layers" },
        { false, "clip.vision.is_deepstack_layers", 1, "names 1 blocks" },
    };
    refuse_keys(cases, COUNT_OF(cases));
    changed = text_file; /* says that layers attend which do not */
    const double list[] = { 1, 1, 0, 1, 1, 0 };
    tiny_list(&changed, "qwen35.attention.recurrent_layers", BOOL, COUNT_OF(list), list);
    refuse_changed(true, "with other layers in", "recurrent_layers");
}

static void test_keys_of_llava15(void **state)
{
    (void)state;
    static const wrong_key cases[] = {
        { true, "llama.rope.dimension_count", 16, "rope.dimension_count is 16" },
        { false, "clip.vision.image_size", 13, "image_size" },
        { false, "clip.vision.image_size", 4097, "image_size" },
        { false, "clip.vision.image_size", 28, "v.position_embd.weight" },
        { false, "clip.vision.feature_layer", 0, "not one layer from 1 to 2" },
        { false, "clip.vision.feature_layer", 3, "not one layer from 1 to 2" },
        { false, "clip.vision.feature_layer", -2, "not one layer from 1 to 2" },
        { false, "clip.use_gelu", 1, "another tower than CLIP" },
        { false, "clip.vision.image_grid_pinpoints", 1, "LLaVA-1.6" },
    };
    refuse_keys(cases, COUNT_OF(cases));
    changed = text_file;
    tiny_number(&changed, "llama.rope.scaling.factor", F32, 8);
    refuse_changed(true, "with", "llama.rope.scaling.factor is 8");
    changed = text_file;
    tiny_add_tensor(&changed, "rope_freqs.weight", 0, TINY_WIDTH / 4, 0);
    refuse_changed(true, "with factors of positions:", "rope_freqs.weight scales");
    changed = mmproj_file;
    tiny_add_tensor(&changed, "v.image_newline", 0, TINY_WIDTH, 0);
    refuse_changed(false, "with a row between lines:", "LLaVA-1.6");
}

/* Numbers of tiles and patches that cannot be; a tower of another kind. */
static void test_tile_keys(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        double value;
        const char *says;
    } cases[] = {
        { "clip.vision.projector.scale_factor", 0, "scale_factor" },
        { "clip.vision.projector.scale_factor", 3, "has no tokens of 3x3" },
        { "clip.vision.projector.scale_factor", 1e6, "scale_factor" },
        { "clip.vision.image_size", 13, "image_size" },
        { "clip.vision.image_size", 4097, "image_size" },
        { "clip.vision.image_size", 28, "v.position_embd.weight" },
        { "clip.vision.preproc_min_tiles", 5, "preproc_min_tiles" },
        { "clip.vision.preproc_max_tiles", 0, "preproc_max_tiles" },
        { "clip.vision.preproc_max_tiles", 65, "preproc_max_tiles" },
        { "clip.vision.preproc_image_size", 55, "preproc_image_size" },
        { "clip.vision.preproc_image_size", 5600, "preproc_image_size" },
        { "clip.use_gelu", 0, "another tower than" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        changed = mmproj_file;
        bool is_there = false;
        for (size_t k = 0; k < changed.n_keys; k++)
            if (strcmp(changed.key[k].name, cases[i].key) == 0) {
                changed.key[k].value[0] = cases[i].value;
                is_there = true;
            }
        if (is_there) refuse_changed(false, cases[i].key, cases[i].says);
    }
    changed = mmproj_file; /* norms of queries and keys: InternViT-6B, or nothing we know */
    tiny_add_tensor(&changed, "v.blk.0.attn_q_norm.weight", 0, LLAVA_VISION, 0);
    if (strcmp(tiny_find_key(&changed, "clip.projector_type")->text, "internvl") == 0)
        refuse_changed(false, "with", "InternViT-6B");
    changed = mmproj_file;
    for (size_t i = 0; i < changed.n_tensors; i++)
        if (strstr(changed.tensor[i].name, "ls1") || strstr(changed.tensor[i].name, "ls2"))
            tiny_drop_tensor(&changed, i--);
    if (changed.n_tensors < mmproj_file.n_tensors)
        refuse_changed(false, "without layer scale", "another tower than InternViT");
}

/* --- two files that do not belong together -------------------------------------------- */

static tiny_file text, mmproj, other;

static bool has_projector(const char *name)
{
    return strcmp(tiny_find_key(&mmproj, "clip.projector_type")->text, name) == 0;
}

static void test_pairs_of_two_families(void **state)
{
    (void)state;
    for (int a = 0; a < N_TINY_FAMILIES; a++)
        for (int b = 0; b < N_TINY_FAMILIES; b++) {
            if (a == b) continue;
            tiny_family_files((tiny_family)a, &text, &other);
            const char *name = tiny_find_key(&text, "general.architecture")->text;
            tiny_family_files((tiny_family)b, &other, &mmproj);
            if (strcmp(name, tiny_find_key(&other, "general.architecture")->text) == 0)
                continue; /* the same decoder */
            const bool fits =
                (strncmp(name, "qwen3vl", 7) == 0 && has_projector("qwen3vl_merger") &&
                 b != TINY_QWEN3_5 && b != TINY_QWEN3_5_MOE) || /* whose towers have no deepstack */
                (strncmp(name, "qwen35", 6) == 0 && (b == TINY_QWEN3_5 || b == TINY_QWEN3_5_MOE)) ||
                ((strcmp(name, "qwen2") == 0 || strcmp(name, "qwen3") == 0 ||
                  strcmp(name, "qwen3moe") == 0) &&
                 has_projector("internvl"));
            tiny_write_pair(folder, "mixed", &text, &mmproj);
            const s2v_engine_options options = tiny_options();
            s2v_engine *engine;
            s2p_error error = { S2P_OK, "" };
            const s2p_status st = s2v_engine_open(&engine, &options, &error);
            s2v_engine_close(engine);
            CHECK_CASE(st == (fits ? S2P_OK : S2P_EUNSUPPORTED), "%s with the mmproj of %s: %d %s",
                       tiny_family_name[a], tiny_family_name[b], (int)st, error.message);
            CHECK_CASE(fits || strstr(error.message, "is not supported") ||
                           strstr(error.message, "the mmproj has another tower than") ||
                           strstr(error.message, "pass the two files published together"),
                       "%s with the mmproj of %s: %s", tiny_family_name[a], tiny_family_name[b],
                       error.message);
        }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest pairs[] = { cmocka_unit_test(test_pairs_of_two_families) };
    int failed = cmocka_run_group_tests(pairs, NULL, NULL);
    for (int i = 0; i < N_TINY_FAMILIES; i++) {
        family = (tiny_family)i;
        const bool has_tiles = strstr(tiny_family_name[i], "InternVL") || family == TINY_SMOLVLM;
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_values_that_cannot_be),
            cmocka_unit_test(test_lists),
            cmocka_unit_test(test_keys_missing_or_of_another_type),
            cmocka_unit_test(test_tensors),
            cmocka_unit_test(test_damaged_weights),
        };
        const bool has_experts = strstr(tiny_family_name[i], "MoE") != NULL;
        const struct CMUnitTest own[] = { cmocka_unit_test(
            has_experts               ? test_keys_of_experts
            : has_tiles               ? test_tile_keys
            : family == TINY_QWEN3_VL ? test_keys_of_qwen3
            : family == TINY_QWEN3_5  ? test_keys_of_qwen35
                                      : test_keys_of_llava15) };
        if (family == TINY_QWEN2_5_VL) continue; /* test_engine_refuse.c */
        failed += cmocka_run_group_tests_name(tiny_family_name[i], tests, open_family, close_good);
        if (has_tiles || has_experts || family == TINY_QWEN3_VL || family == TINY_QWEN3_5 ||
            family == TINY_LLAVA_1_5)
            failed +=
                cmocka_run_group_tests_name(tiny_family_name[i], own, open_family, close_good);
    }
    return failed;
}
