/* test_engine_refuse_names.c - every projector llama.cpp 0.5.0 knows, with the text models that are published
 * with it, either runs or is refused with a sentence of its own that names it.
 *
 * The projectors are those of its tools/mtmd/clip-impl.h, line by line.
 */
#include "changed_pair.h"

typedef struct published {
    const char *projector;
    const char *text[8]; /* NULL ends the list */
} published;

static const published list[] = {
    { "mlp", { "granite", "phi2", "phi3", "gemma", "stablelm", "command-r" } },
    { "ldp", { "llama" } },
    { "ldpv2", { "llama" } },
    { "resampler", { "minicpm", "qwen2", "llama", "qwen3" } },
    { "adapter", { "chatglm" } },
    { "qwen2vl_merger", { "qwen3", "llama" } },
    { "qwen2.5vl_merger", { "qwen3", "llama" } },
    { "qwen3vl_merger", { "qwen4exp", "llama" } },
    { "step3vl", { "step35", "qwen3" } },
    { "gemma3", { "llama", "qwen3" } },
    { "gemma3nv", { "gemma3n" } },
    { "gemma3na", { "gemma3n" } },
    { "gemma4v", { "gemma4" } },
    { "gemma4a", { "gemma4" } },
    { "gemma4uv", { "gemma4" } },
    { "gemma4ua", { "gemma4" } },
    { "phi4", { "phi3" } },
    { "idefics3", { "granite", "mistral3" } },
    { "pixtral", { "llama", "mistral3" } },
    { "ultravox", { "llama", "qwen3" } },
    { "internvl", { "internlm2", "llama", "phi3", "gpt-oss", "gemma2" } },
    { "llama4", { "llama4" } },
    { "qwen2a", { "qwen2", "qwen2vl" } },
    { "qwen3a", { "qwen3", "qwen3vlmoe" } },
    { "glma", { "glm4", "llama" } },
    { "qwen2.5o", { "qwen2vl" } },
    { "voxtral", { "llama" } },
    { "meralion", { "gemma2" } },
    { "musicflamingo", { "qwen2" } },
    { "lfm2", { "lfm2" } },
    { "kimivl", { "deepseek2" } },
    { "paddleocr", { "ernie4_5", "paddleocr" } },
    { "lightonocr", { "qwen3" } },
    { "cogvlm", { "cogvlm" } },
    { "janus_pro", { "llama" } },
    { "dots_ocr", { "qwen2" } },
    { "dots3note_v", { "dots3" } },
    { "dots3note_a", { "dots3" } },
    { "deepseekocr", { "deepseek2-ocr" } },
    { "deepseekocr2", { "deepseek2-ocr" } },
    { "deepseek4v", { "deepseek4" } },
    { "lfm2a", { "lfm2" } },
    { "glm4v", { "glm4", "glm4moe" } },
    { "youtuvl", { "deepseek2" } },
    { "yasa2", { "llama", "qwen3" } },
    { "kimik25", { "deepseek2" } },
    { "nemotron_v2_vl", { "nemotron_h" } },
    { "exaone4_5", { "exaone4" } },
    { "hunyuanvl", { "hunyuan_vl" } },
    { "minicpmv4_6", { "qwen35" } },
    { "granite_speech", { "granite" } },
    { "mimovl", { "qwen2", "mimo2" } },
    { "minimax_m3", { "minimax-m3" } },
    { "granite4_vision", { "granitehybrid", "granite" } },
    { "mimo_audio", { "mimo2" } },
    { "parakeet", { "nemotron_h" } },
    { "qwen3tts_spkenc", { "qwen3tts" } },
    { "qwen3tts_gen", { "qwen3tts" } },
    { "pockettts_spkenc", { "pockettts" } },
    { "pockettts_gen", { "pockettts" } },
    { "muse-glimmer", { "muse-glimmer" } },
};

/* What opening says to this pair of names. */
static void refuse(const char *text, const char *projector, s2p_error *error)
{
    char path[2][512];
    tiny_file file = text_file;
    tiny_find_key(&file, "general.architecture")->text = text;
    (void)snprintf(path[0], sizeof path[0], "%s/other.gguf", folder);
    tiny_write(&file, path[0]);
    file = mmproj_file;
    tiny_find_key(&file, "clip.projector_type")->text = projector;
    (void)snprintf(path[1], sizeof path[1], "%s/mmproj-other.gguf", folder);
    tiny_write(&file, path[1]);
    s2v_engine_options options = tiny_options();
    options.model_path = path[0];
    options.mmproj_path = path[1];
    s2v_engine *engine;
    *error = (s2p_error){ S2P_OK, "" };
    const s2p_status st = s2v_engine_open(&engine, &options, error);
    s2v_engine_close(engine);
    CHECK_CASE(st == S2P_EUNSUPPORTED && error->status == st, "%s with %s: %d '%s'", text,
               projector, (int)st, error->message);
}

/* The sentence: what it is called, both names, what is missing, what runs. A projector of ours with a
 * text model that nobody publishes with it is two files of two models. */
static void test_every_projector(void **state)
{
    (void)state;
    static char title[256][64];
    size_t n_titles = 0, n_pairs = 0;
    for (size_t i = 0; i < COUNT_OF(list); i++)
        for (size_t t = 0; t < COUNT_OF(list[i].text) && list[i].text[t]; t++) {
            const char *text = list[i].text[t], *projector = list[i].projector;
            s2p_error error;
            char names[128];
            refuse(text, projector, &error);
            n_pairs++;
            (void)snprintf(names, sizeof names,
                           " ('%s' with projector '%s') is not supported: ", text, projector);
            const char *at = strstr(error.message, names);
            if (!at) { /* one of our towers */
                CHECK_CASE((strstr(projector, "vl_merger") || strcmp(projector, "gemma3") == 0) &&
                               strstr(error.message, "pass the two files published together"),
                           "%s with %s: '%s'", text, projector, error.message);
                continue;
            }
            CHECK_CASE(strstr(at, "; supported: Qwen2.5-VL, "), "%s", error.message);
            CHECK_CASE(strstr(at, " missing;") || strstr(at, "without vision;") ||
                           strstr(at, "is not supported;") || strstr(at, "no grid to prune by;"),
                       "%s", error.message);
            if (t > 0) continue; /* one row may serve several text models */
            (void)snprintf(title[n_titles], sizeof title[0], "%.*s",
                           (int)(at - error.message < 60 ? at - error.message : 60), error.message);
            n_titles++;
        }
    print_message("%zu pairs of %zu projectors\n", n_pairs, COUNT_OF(list));
    /* Only the halves of one model may share a title. */
    size_t n_shared = 0;
    for (size_t a = 0; a < n_titles; a++)
        for (size_t b = 0; b < a; b++)
            if (strcmp(title[a], title[b]) == 0) {
                n_shared++;
                CHECK_CASE(strstr(title[a], "audio part") || strstr(title[a], "TTS"), "%s",
                           title[a]);
            }
    assert_true(n_shared <= 3);
}

/* The projector of a file that holds sound too has a key of its own. */
static void test_key_of_the_vision_part(void **state)
{
    (void)state;
    s2p_error error;
    changed = mmproj_file;
    tiny_key *key = tiny_find_key(&changed, "clip.projector_type");
    (void)snprintf(key->name, sizeof key->name, "clip.vision.projector_type");
    key->text = "gemma4v";
    s2v_engine *engine;
    assert_int_equal(open_changed(false, &engine, &error), S2P_EUNSUPPORTED);
    CHECK_CASE(strstr(error.message, "projector 'gemma4v'"), "%s", error.message);
}

/* Names are data: of any length, with any bytes. The program cleans what it prints (tools/report.c). */
static void test_strange_names(void **state)
{
    (void)state;
    static const char *const names[] = { "",
                                         "%s%n%d",
                                         "mlp\n",
                                         "MLP",
                                         "mlp ",
                                         "a\x1b[31m\xff",
                                         "qwen3vl_merger_qwen3vl_merger_qwen3vl_merger_qwen3vl" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            s2p_error error;
            refuse(names[i], names[k], &error);
            CHECK_CASE(strstr(error.message, "is not supported; supported: "), "%s", error.message);
        }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_projector),
        cmocka_unit_test(test_key_of_the_vision_part),
        cmocka_unit_test(test_strange_names),
    };
    return cmocka_run_group_tests(tests, open_good, close_good);
}
