/* refused_pair.h - refusals that hold for every family: each key and each tensor of a good pair is left
 * out or changed in type or shape in turn, and weights that are no numbers are noticed. */
#ifndef TESTS_REFUSED_PAIR_H
#define TESTS_REFUSED_PAIR_H

#include "changed_pair.h"

/* Refused as a bad file, with a sentence that names `what`. */
static inline void refuse_changed(bool is_text, const char *how, const char *what)
{
    s2v_engine *engine;
    s2p_error error;
    const s2p_status st = open_changed(is_text, &engine, &error);
    s2v_engine_close(engine);
    CHECK_CASE(st == S2P_EFORMAT || st == S2P_EUNSUPPORTED, "%s %s: %d", how, what, (int)st);
    CHECK_CASE(error.status == st && strstr(error.message, what), "%s %s: '%s'", how, what,
               error.message);
}

/* Gemma 3's tower: every published file has four patches along a side of a token, and some do not say so. */
static inline bool pools_patches(void)
{
    return strcmp(tiny_find_key(&mmproj_file, "clip.projector_type")->text, "gemma3") == 0;
}

static inline void test_keys_missing_or_of_another_type(void **state)
{
    (void)state;
    for (int is_text = 0; is_text < 2; is_text++) {
        const tiny_file *file = is_text ? &text_file : &mmproj_file;
        for (size_t i = 0; i < file->n_keys; i++) {
            const tiny_key *key = &file->key[i];
            if (strcmp(key->name, "general.name") == 0) continue;
            if (strcmp(key->name, "clip.use_gelu") == 0) continue; /* each tower has one it means */
            if (strstr(key->name, "moe.feed_forward_length")) continue; /* experts have their own */
            const bool is_optional = strstr(key->name, "preproc_") ||
                                     strstr(key->name, "feature_layer") ||
                                     strstr(key->name, "qwen3.attention.key_length") ||
                                     strstr(key->name, "qwen3moe.attention.key_length") ||
                                     strstr(key->name, "gemma3.attention.key_length") ||
                                     strstr(key->name, "gemma3.rope.scaling.factor") ||
                                     strstr(key->name, "qwen35.attention.key_length") ||
                                     strstr(key->name, "qwen35moe.attention.key_length") ||
                                     (strstr(key->name, "scale_factor") && pools_patches());
            const char *what = key->type == STRING ? "" : key->name;
            if (strstr(what, "key_length") || strstr(what, "n_deepstack_layers") ||
                strstr(what,
                       "moe.expert_feed_forward_length")) /* another width then does not fit */
                what = "";
            changed = *file;
            tiny_drop_key(&changed, i);
            if (!is_optional) refuse_changed(is_text, "without", what);
            changed = *file;
            changed.key[i].type = key->type == STRING ? U32 : STRING;
            changed.key[i].text = "tiny";
            refuse_changed(is_text, "as another type", what);
            changed = *file;
            changed.key[i].type = changed.key[i].item = ARRAY; /* an empty list of lists */
            changed.key[i].n = 0;
            s2v_engine *engine;
            s2p_error error;
            assert_int_not_equal(open_changed(is_text, &engine, &error), S2P_OK);
        }
    }
    changed = text_file;
    changed.words = NULL;
    refuse_changed(true, "without", "tokenizer.ggml");
}

/* --- tensors ------------------------------------------------------------------------ */

static inline void test_tensors(void **state)
{
    (void)state;
    for (int is_text = 0; is_text < 2; is_text++) {
        const tiny_file *file = is_text ? &text_file : &mmproj_file;
        for (size_t i = 0; i < file->n_tensors; i++) {
            const char *name = file->tensor[i].name;
            const uint32_t last = file->tensor[i].n_dims - 1;
            s2v_engine *engine;
            s2p_error error;
            changed = *file;
            tiny_drop_tensor(&changed, i);
            /* The embedding takes its place; pictures without tiles need no newline. */
            if (strcmp(name, "output.weight") != 0 && strcmp(name, "v.image_newline") != 0) {
                const bool tells_tower =
                    strcmp(name, "v.class_embd") == 0 || strcmp(name, "v.blk.0.ls1.weight") == 0;
                refuse_changed(is_text, "without", tells_tower ? "another tower than" : name);
            } else {
                assert_int_equal(open_changed(is_text, &engine, &error), S2P_OK);
                s2v_engine_close(engine);
            }
            changed = *file;
            changed.tensor[i].ne[last]++;
            /* The width of the feed-forward is taken from the first gate, or where there is none from
             * the first ffn_up, and others differ. */
            const bool is_width = strcmp(name, "mm.2.weight") == 0; /* CLIP's: taken from there */
            refuse_changed(is_text, "longer",
                           strncmp(name, "v.blk.0.ffn_", 12) == 0 ? "v.blk."
                           : is_width                             ? ""
                                                                  : name);
            changed = *file;
            changed.tensor[i].n_dims = last + 2 > 4 ? 3 : last + 2;
            changed.tensor[i].ne[changed.tensor[i].n_dims - 1] = 2;
            refuse_changed(is_text, "with another dimension", name);
            changed = *file;
            changed.tensor[i].type = GGML_TYPE_I32;
            refuse_changed(is_text, "as integers:", name);
            if (last > 0) continue; /* norms and biases are F32 */
            changed.tensor[i].type = GGML_TYPE_F16;
            refuse_changed(is_text, "as halves:", name);
            if (file->tensor[i].ne[0] % 32 != 0) continue;
            changed.tensor[i].type = GGML_TYPE_Q8_0;
            refuse_changed(is_text, "as blocks:", name);
        }
    }
}

/* --- damaged weights ------------------------------------------------------------------ */

/* These models choose the size of a picture. */
static inline bool chooses_size(void)
{
    return strstr(tiny_find_key(&mmproj_file, "clip.projector_type")->text, "merger") == NULL;
}

static inline void test_damaged_weights(void **state)
{
    (void)state;
    static const float poisons[] = { NAN, INFINITY, -INFINITY };
    for (int is_text = 0; is_text < 2; is_text++) {
        const tiny_file *file = is_text ? &text_file : &mmproj_file;
        for (size_t i = 0; i < file->n_tensors; i++)
            for (size_t p = 0; p < COUNT_OF(poisons); p++) {
                question q = one_picture(i % 2 ? "s2prune" : NULL, 18);
                if (chooses_size()) q.size[0].width = q.size[0].height = 0;
                changed = *file;
                changed.tensor[i].poison = poisons[p];
                s2p_error error;
                const s2p_status st = prefill_changed(is_text, &q, &error);
                /* Minus infinity may cancel out; NaN never does. */
                CHECK_CASE(st == S2P_EFORMAT || (st == S2P_OK && p > 0), "%s of %g: %d %s",
                           file->tensor[i].name, (double)poisons[p], (int)st, error.message);
                if (st != S2P_OK) assert_non_null(strstr(error.message, "weights are damaged"));
            }
    }
}

#endif /* TESTS_REFUSED_PAIR_H */
