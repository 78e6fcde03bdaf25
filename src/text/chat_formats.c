/* chat_formats.c - the chat formats, one row each. template.c renders them.
 *
 * "qwen2-vl" is what the published template of Qwen2-VL and Qwen2.5-VL renders (without picture
 * numbers); [im_start] and so on are special tokens, P is a picture:
 *
 *     [im_start]system\nYou are a helpful assistant.[im_end]\n   unless the first message is one
 *     [im_start]user\n[vision_start]P[vision_end]TEXT[im_end]\n
 *     [im_start]assistant\n
 *
 * "llava-onevision" is what the template published with llava-onevision-qwen2-7b-ov-hf renders: a
 * space after the role, pictures and a line end before the text, nothing after a message, no default
 * system message:
 *
 *     [im_start]user P\nTEXT[im_end][im_start]assistant\n
 *
 * "internvl" is what Hugging Face's template of InternVL3 renders: Qwen's marks, pictures on lines of
 * their own wherever they stand, no default system message:
 *
 *     [im_start]user\n[img]P[/img]\nTEXT[im_end]\n[im_start]assistant\n
 *
 * "vicuna" is what the template published with llava-1.5-7b-hf renders: text only, a system message
 * without a role, pictures first, each on a line of its own:
 *
 *     SYSTEM USER: P\nTEXT ASSISTANT: ANSWER USER: TEXT ASSISTANT:
 *
 * "qwen3.5" is what the template published with Qwen3.5 renders for text and pictures: Qwen3-VL's, and after
 * the start of an answer empty thoughts, or with reasoning on their beginning. Tools are called in another
 * notation there, which is not built in:
 *
 *     [im_start]assistant\n[think]\n\n[/think]\n\n
 *     [im_start]assistant\n[think]\n
 *
 * "smolvlm" is what the template published with SmolVLM2 renders: one token before everything, no space
 * between a role and a picture; what stands around tiles belongs to the picture:
 *
 *     [im_start]User:PTEXT[end_of_utterance]\nAssistant: ANSWER[end_of_utterance]\nUser: TEXT...
 *
 * "gemma" is what the template and the processor published with Gemma 3 render: answers are the model's,
 * a system message is the start of the first user's, pictures stand between line ends, and texts have no
 * white space at their ends:
 *
 *     [start_of_turn]user\nSYSTEM\n\n\n\n[start_of_image]P[end_of_image]\n\nTEXT[end_of_turn]\n
 *     [start_of_turn]model\n
 */
#include "text/chat_formats.h"

#include <string.h>

static const s2v_chat_format formats[] = {
    { .name = "qwen2-vl",
      .architecture = "qwen2vl",
      .default_system = "You are a helpful assistant.",
      .role = { [S2V_SYSTEM] = "system", [S2V_USER] = "user", [S2V_ASSISTANT] = "assistant" },
      .start = "<|im_start|>",
      .end = "<|im_end|>",
      .after_role = "\n",
      .after_pictures = "",
      .after_end = "\n",
      .answer = "assistant\n",
      .picture_start = "<|vision_start|>",
      .picture_end = "<|vision_end|>",
      .picture = "<|image_pad|>",
      .has_tools = true },
    { .name = "llava-onevision",
      .architecture = "qwen2",
      .role = { [S2V_SYSTEM] = "system", [S2V_USER] = "user", [S2V_ASSISTANT] = "assistant" },
      .start = "<|im_start|>",
      .end = "<|im_end|>",
      .after_role = " ",
      .after_pictures = "\n",
      .after_end = "",
      .answer = "assistant\n" },
    { .name = "qwen3-vl",
      .architecture = "qwen3vl",
      .role = { [S2V_SYSTEM] = "system", [S2V_USER] = "user", [S2V_ASSISTANT] = "assistant" },
      .start = "<|im_start|>",
      .end = "<|im_end|>",
      .after_role = "\n",
      .after_pictures = "",
      .after_end = "\n",
      .answer = "assistant\n",
      .picture_start = "<|vision_start|>",
      .picture_end = "<|vision_end|>",
      .picture = "<|image_pad|>",
      .has_tools = true },
    { .name = "vicuna",
      .architecture = "llama",
      .role = { [S2V_SYSTEM] = "", [S2V_USER] = "USER: ", [S2V_ASSISTANT] = "ASSISTANT: " },
      .after_role = "",
      .after_pictures = "",
      .after_picture = "\n",
      .after_end = " ",
      .answer = "ASSISTANT:" },
    { .name = "internvl",
      .architecture = "qwen3",
      .role = { [S2V_SYSTEM] = "system", [S2V_USER] = "user", [S2V_ASSISTANT] = "assistant" },
      .start = "<|im_start|>",
      .end = "<|im_end|>",
      .after_role = "\n",
      .after_pictures = "",
      .after_picture = "\n",
      .after_marked = "\n",
      .after_end = "\n",
      .answer = "assistant\n",
      .picture_start = "<img>",
      .picture_end = "</img>",
      .picture = "<IMG_CONTEXT>",
      .wraps_picture = true },
    { .name = "smolvlm",
      .role = { [S2V_SYSTEM] = "System:", [S2V_USER] = "User:", [S2V_ASSISTANT] = "Assistant:" },
      .end = "<end_of_utterance>",
      .after_role = " ",
      .after_role_picture = "",
      .after_pictures = "",
      .after_end = "\n",
      .answer = "Assistant:",
      .prompt_start = "<|im_start|>" },
    { .name = "gemma",
      .architecture = "gemma3",
      .role = { [S2V_SYSTEM] = "user", [S2V_USER] = "user", [S2V_ASSISTANT] = "model" },
      .start = "<start_of_turn>",
      .end = "<end_of_turn>",
      .after_role = "\n",
      .after_pictures = "",
      .after_end = "\n",
      .answer = "model\n",
      .picture_start = "<start_of_image>",
      .picture_end = "<end_of_image>",
      .picture = "<start_of_image>",
      .wraps_picture = true,
      .around_picture = "\n\n",
      .joins_system = true,
      .trims_text = true },
    { .name = "qwen3.5",
      .architecture = "qwen35",
      .role = { [S2V_SYSTEM] = "system", [S2V_USER] = "user", [S2V_ASSISTANT] = "assistant" },
      .start = "<|im_start|>",
      .end = "<|im_end|>",
      .after_role = "\n",
      .after_pictures = "",
      .after_end = "\n",
      .answer = "assistant\n",
      .thinks = true,
      .picture_start = "<|vision_start|>",
      .picture_end = "<|vision_end|>",
      .picture = "<|image_pad|>" },
};

const s2v_chat_format *s2v_chat_format_at(size_t index)
{
    return index < sizeof formats / sizeof *formats ? &formats[index] : NULL;
}

const s2v_chat_format *s2v_chat_format_find(const char *name, const char *architecture)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (name ? strcmp(name, formats[i].name) == 0
                 : formats[i].architecture && strcmp(architecture, formats[i].architecture) == 0)
            return &formats[i];
    return NULL;
}
