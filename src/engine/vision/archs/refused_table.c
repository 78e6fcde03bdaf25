/* refused_table.c - models llama.cpp reads and this engine does not: what each is, and what is missing.
 *
 * By the projector of the mmproj, and by the text model where several families share one. The names are
 * those of llama.cpp 0.5.0 (tools/mtmd/clip-impl.h). An architecture that runs leaves the table.
 */
#include "engine/vision/arch.h"

#include <stdio.h>
#include <string.h>

typedef struct refused {
    const char *projector; /* clip.projector_type */
    const char *text;      /* general.architecture; NULL: whichever */
    const char *title;     /* as people call it */
    const char *missing;   /* what the engine would need */
} refused;

#define NO_TEXT_PART "a decoder for its text model is missing"
#define NO_TOWER "its vision tower is missing"
#define NO_BOTH "its vision tower and a decoder for its text model are missing"
#define NO_PICTURES "it is an audio model without vision"

/* clang-format off */
static const refused table[] = {
    { "mlp", "granite", "Granite Vision", NO_TEXT_PART },
    { "mlp", "phi2", "Moondream 2", NO_TEXT_PART },
    { "mlp", "phi3", "LLaVA on Phi-3", NO_TEXT_PART },
    { "mlp", NULL, "a model with a LLaVA projector", NO_TEXT_PART },
    { "ldp", NULL, "MobileVLM", "its projector is missing" },
    { "ldpv2", NULL, "MobileVLM 2", "its projector is missing" },
    { "resampler", NULL, "MiniCPM-V", "its tokens come from a resampler and have no places in the picture, so there is no grid to prune by" },
    { "minicpmv4_6", NULL, "MiniCPM-V 4.6", "its vision tower, which merges patches in the middle, is missing" },
    { "adapter", NULL, "GLM-Edge-V", NO_BOTH },
    { "qwen3vl_merger", "qwen4exp", "Qwen3.8-Flash-Next", "hyper-connections and sparse attention are missing" },
    { "qwen3vl_merger", NULL, "a model with Qwen3-VL's tower", NO_TEXT_PART },
    { "qwen2.5o", NULL, "Qwen2.5-Omni", "an mmproj with both audio and vision is not supported" },
    { "step3vl", NULL, "Step3-VL", NO_BOTH },
    { "gemma3nv", NULL, "Gemma 3n", NO_BOTH },
    { "gemma4v", NULL, "Gemma 4", NO_BOTH },
    { "gemma4uv", NULL, "Gemma 4 12B", "a decoder for its text model and its way without a tower are missing" },
    { "phi4", NULL, "Phi-4-multimodal", NO_BOTH },
    { "idefics3", NULL, "a model with SmolVLM's projector", NO_TEXT_PART },
    { "pixtral", NULL, "Pixtral, Mistral Small 3 or Ministral 3", "its tower, a decoder for its text model and its tokenizer are missing" },
    { "lightonocr", NULL, "LightOnOCR", NO_BOTH },
    { "internvl", "internlm2", "InternVL 2 or 2.5 on InternLM2", NO_TEXT_PART },
    { "internvl", "llama", "InternVL 2 on Llama 3", NO_TEXT_PART },
    { "internvl", "phi3", "InternVL 2 on Phi-3", NO_TEXT_PART },
    { "internvl", "gpt-oss", "InternVL3.5 on gpt-oss", "its attention and its kind of experts are missing" },
    { "internvl", NULL, "an InternVL model", NO_TEXT_PART },
    { "llama4", NULL, "Llama 4", NO_BOTH },
    { "lfm2", NULL, "LFM2-VL", NO_BOTH },
    { "kimivl", NULL, "Kimi-VL", NO_BOTH },
    { "kimik25", NULL, "Kimi-K2.5", NO_BOTH },
    { "glm4v", NULL, "GLM-4.1V, 4.5V or 4.6V", NO_BOTH },
    { "paddleocr", NULL, "PaddleOCR-VL", NO_BOTH },
    { "dots_ocr", NULL, "dots.ocr", NO_TOWER },
    { "dots3note_v", NULL, "dots3.note", NO_BOTH },
    { "deepseekocr", NULL, "DeepSeek-OCR", NO_BOTH },
    { "deepseekocr2", NULL, "DeepSeek-OCR 2", NO_BOTH },
    { "deepseek4v", NULL, "DeepSeek 4 Vision", NO_BOTH },
    { "hunyuanocr", NULL, "HunyuanOCR", NO_BOTH },
    { "hunyuanvl", NULL, "Hunyuan-VL", NO_BOTH },
    { "cogvlm", NULL, "CogVLM", NO_BOTH },
    { "janus_pro", NULL, "Janus-Pro", NO_BOTH },
    { "youtuvl", NULL, "Youtu-VL", NO_BOTH },
    { "yasa2", NULL, "Reka Edge", NO_BOTH },
    { "nemotron_v2_vl", NULL, "Nemotron Nano V2 VL", NO_BOTH },
    { "exaone4_5", NULL, "EXAONE 4.5", NO_BOTH },
    { "mimovl", NULL, "MiMo-VL", NO_TOWER },
    { "minimax_m3", NULL, "MiniMax-M3", NO_BOTH },
    { "granite4_vision", NULL, "Granite 4 Vision", NO_BOTH },
    { "muse-glimmer", NULL, "Muse Glimmer", NO_BOTH },
    { "gemma3na", NULL, "Gemma 3n's audio part", NO_PICTURES },
    { "gemma4a", NULL, "Gemma 4's audio part", NO_PICTURES },
    { "gemma4ua", NULL, "Gemma 4's audio part", NO_PICTURES },
    { "ultravox", NULL, "Ultravox", NO_PICTURES },
    { "qwen2a", NULL, "Qwen2-Audio", NO_PICTURES },
    { "qwen3a", NULL, "Qwen3-Omni's audio part", NO_PICTURES },
    { "glma", NULL, "GLM-ASR", NO_PICTURES },
    { "voxtral", NULL, "Voxtral", NO_PICTURES },
    { "meralion", NULL, "MERaLiON", NO_PICTURES },
    { "musicflamingo", NULL, "Music Flamingo", NO_PICTURES },
    { "dots3note_a", NULL, "dots3.note's audio part", NO_PICTURES },
    { "lfm2a", NULL, "LFM2-Audio", NO_PICTURES },
    { "granite_speech", NULL, "Granite Speech", NO_PICTURES },
    { "mimo_audio", NULL, "MiMo-Audio", NO_PICTURES },
    { "parakeet", NULL, "Parakeet", NO_PICTURES },
    { "qwen3tts_spkenc", NULL, "Qwen3-TTS", NO_PICTURES },
    { "qwen3tts_gen", NULL, "Qwen3-TTS", NO_PICTURES },
    { "pockettts_spkenc", NULL, "Pocket TTS", NO_PICTURES },
    { "pockettts_gen", NULL, "Pocket TTS", NO_PICTURES },
};
/* clang-format on */

static bool is_same(s2v_text text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

/* The row of this pair: one that names the text model comes before one that does not. */
static const refused *find_row(s2v_text name, s2v_text projector)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_same(projector, table[i].projector) &&
            (!table[i].text || is_same(name, table[i].text)))
            return &table[i];
    return NULL;
}

s2p_status s2v_arch_refuse(s2v_text name, s2v_text projector, const s2v_gguf *mmproj,
                           s2p_error *error)
{
    char runs[400] = "";
    const s2v_arch *arch = s2v_arch_of_tower(projector, mmproj);
    bool runs_text = false;
    s2v_architecture a;
    for (size_t i = 0, n = 0; s2v_architecture_get(i, &a) && n < sizeof runs; i++) {
        n += (size_t)snprintf(runs + n, sizeof runs - n, "%s%s", i ? ", " : "", a.title);
        runs_text = runs_text || is_same(name, a.name);
    }
    const int n_name = (int)(name.size < 40 ? name.size : 40);
    const int n_projector = (int)(projector.size < 40 ? projector.size : 40);
    const refused *row = find_row(name, projector);
    if (row && (row->text || !runs_text || !arch))
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "%s ('%.*s' with projector '%s') is not supported: %s; supported: %s",
                       row->title, n_name, name.data, row->projector, row->missing, runs);
    if (arch)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the mmproj is the vision part of %s, whose language part is '%s', not "
                       "'%.*s': pass the two files published together",
                       arch->title, arch->name, n_name, name.data);
    return s2_fail(error, S2P_EUNSUPPORTED,
                   "model '%.*s' with projector '%.*s' is not supported; supported: %s", n_name,
                   name.data, n_projector, projector.data, runs);
}
