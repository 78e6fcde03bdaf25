/* cmd_inspect.c - `s2prune inspect`: what a model file holds, also when it is broken.
 *
 * Everything comes from the validator (engine/gguf.h), which hands over what it had
 * accepted when it met the mistake. Tensor data is read only for --check.
 */
#include "s2vlm.h"
#include "inspect/inspect.h"
#include "program.h"
#include "report.h"
#include "text/tokenizer_kind.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LARGEST_SIDE 1008 /* pixels; larger pictures are reduced unless told otherwise */
#define MAX_PICTURES 64   /* of a prompt, as the engine has it */

typedef struct inspect_options {
    s2_list files;
    bool tensors, keys, check, memory;
    const char *mmproj;
    int32_t output, context, pictures, budget;
} inspect_options;

static void explain_refusal(s2_inspection *in, const char *what, s2v_text name)
{
    s2_buffer clean;
    s2_buffer_init(&clean, 512);
    s2_inspect_clean(&clean, name, 40, true);
    (void)snprintf(in->support, sizeof in->support, "%s '%.*s' is not supported by the engine",
                   what, (int)clean.size, clean.size ? (const char *)clean.data : "");
    s2_buffer_free(&clean);
}

/* The architectures with this language model, or with this projector; false: there are none. */
static bool explain_support(s2_inspection *in, s2v_text name, bool is_projector, const char *part)
{
    char titles[128] = "";
    s2v_architecture arch;
    for (size_t i = 0, n = 0; s2v_architecture_get(i, &arch) && n < sizeof titles; i++) {
        if (!s2v_text_is(name, is_projector ? arch.projector : arch.name)) continue;
        n += (size_t)snprintf(titles + n, sizeof titles - n, "%s%s", n ? " or " : "", arch.title);
        in->is_supported = true;
    }
    if (in->is_supported) (void)snprintf(in->support, sizeof in->support, "%s %s", titles, part);
    return in->is_supported;
}

static void name_tokenizer(s2_inspection *in)
{
    const s2v_tokenizer_kind *kind;
    const s2v_gguf_key *tokens = s2v_gguf_find_key(in->file, "tokenizer.ggml.tokens");
    s2p_error error = { S2P_OK, "" };
    if (!s2v_gguf_find_key(in->file, "tokenizer.ggml.model")) return;
    if (s2v_tokenizer_kind_of(in->file, &kind, &error) != S2P_OK)
        (void)snprintf(in->tokenizer, sizeof in->tokenizer, "%s", error.message);
    else
        (void)snprintf(in->tokenizer, sizeof in->tokenizer, "%s, %" PRIu64 " tokens", kind->title,
                       tokens ? tokens->count : 0);
}

/* NaN and infinities, which ruin every answer without a word. */
static s2p_status check_values(s2_inspection *in, s2p_error *error)
{
    s2p_status st = S2P_OK;
    in->was_checked = true;
    for (size_t i = 0; i < s2v_gguf_n_tensors(in->file); i++) {
        const s2v_gguf_tensor *tensor = s2v_gguf_tensor_at(in->file, i);
        s2v_gguf_odd odd;
        if (!s2v_gguf_count_odd(tensor, &odd)) {
            in->n_skipped++;
        } else if (odd.count == 0) {
            in->n_finite++;
        } else if (in->n_odd++ == 0) {
            st = s2_fail(error, S2P_EFORMAT,
                         "tensor '%.*s': values not finite: %" PRIu64
                         ", the first at index %" PRIu64,
                         (int)tensor->name.size, tensor->name.data, odd.count, odd.first);
        }
    }
    return st;
}

/* The model with its vision part, a session of this context and pictures of the largest usual size. */
static s2p_status estimate(const inspect_options *o, s2v_memory *out, s2p_error *error)
{
    if (!o->mmproj)
        return s2_fail(error, S2P_EINVAL,
                       "--memory needs both files of a model: give the other one with -mm");
    s2v_engine_options engine;
    s2v_engine_options_init(&engine);
    engine.model_path = o->files.item[0];
    engine.mmproj_path = o->mmproj;
    s2v_session_options session;
    s2v_session_options_init(&session);
    session.n_ctx = o->context;
    s2p_image image[MAX_PICTURES];
    for (int32_t i = 0; i < o->pictures; i++)
        image[i] = (s2p_image){ LARGEST_SIDE, LARGEST_SIDE, (ptrdiff_t)3 * LARGEST_SIDE, NULL };
    const s2v_message message = { .role = S2V_USER, .text = "", .n_images = o->pictures };
    s2v_prompt prompt;
    s2v_prompt_init(&prompt);
    prompt.messages = &message;
    prompt.n_messages = 1;
    prompt.images = image;
    prompt.n_images = o->pictures;
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = o->budget > 0 ? "s2prune" : NULL;
    prune.budget.tokens = o->budget;
    return s2v_engine_estimate_prompt(&engine, &session, &prompt, &prune, out, error);
}

static int show_inspection(const s2_inspection *in, bool is_json)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (is_json)
        s2_inspect_json(in, &out);
    else
        s2_inspect_text(in, &out);
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}

static int inspect_run(const void *values)
{
    const inspect_options *options = values;
    s2p_error error = { S2P_OK, "" };
    if (options->files.n != 1) {
        s2_fail(&error, S2P_EINVAL, "inspect takes one file, not %zu", options->files.n);
        return s2_report_error(S2P_EINVAL, &error);
    }
    s2v_gguf *file = NULL;
    const char *path = options->files.item[0];
    s2p_status st = s2v_gguf_examine(&file, path, &error);
    if (st == S2P_EIO || st == S2P_ENOMEM) {
        s2v_gguf_close(file);
        return s2_report_error(st, &error);
    }
    s2_inspection in = { .path = path,
                         .file = file,
                         .error = &error,
                         .is_valid = st == S2P_OK,
                         .show_tensors = options->tensors,
                         .show_keys = options->keys };
    /* Whether this kind of model is one the engine runs. Shapes are checked when it is loaded. */
    s2v_text name = { "", 0 };
    const char *kind = NULL;
    if (!in.is_valid) {
        kind = "the file is broken";
    } else if (!s2v_gguf_string(in.file, "general.architecture", &name)) {
        kind = "key 'general.architecture' is missing";
    } else if (explain_support(&in, name, false, "language model")) {
        ; /* explained */
    } else if (!s2v_text_is(name, "clip")) {
        explain_refusal(&in, "architecture", name);
    } else if (!s2v_gguf_string(in.file, "clip.projector_type", &name) &&
               !s2v_gguf_string(in.file, "clip.vision.projector_type", &name)) {
        kind = "key 'clip.projector_type' is missing";
    } else if (!explain_support(&in, name, true, "vision tower (mmproj)")) {
        explain_refusal(&in, "projector", name);
    }
    if (kind) (void)snprintf(in.support, sizeof in.support, "%s", kind);
    if (in.is_valid) name_tokenizer(&in);
    if (options->check && in.is_valid) st = check_values(&in, &error);
    s2v_memory memory;
    if (options->memory && st == S2P_OK) st = estimate(options, &memory, &error);
    if (options->memory && st == S2P_OK) in.memory = &memory;
    int code = show_inspection(&in, options->output == 1);
    if (st != S2P_OK && code == S2_EXIT_OK) code = s2_report_error(st, &error);
    s2v_gguf_close(file);
    return code;
}

static const char *format_name(size_t index)
{
    static const char *const names[] = { "text", "json" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const s2_option option_table[] = {
    { .name = "--kv",
      .type = S2_OPTION_FLAG,
      .group = "What to show",
      .help = "print the keys and values; long values are shortened",
      .offset = offsetof(inspect_options, keys) },
    { .name = "--tensors",
      .type = S2_OPTION_FLAG,
      .group = "What to show",
      .help = "print the name, type, shape and size of every tensor",
      .offset = offsetof(inspect_options, tensors) },
    { .name = "--check",
      .type = S2_OPTION_FLAG,
      .group = "What to show",
      .help = "read the F64, F32, F16 and BF16 tensors and look for NaN and infinity",
      .offset = offsetof(inspect_options, check) },
    { .name = "--memory",
      .type = S2_OPTION_FLAG,
      .group = "What to show",
      .help = "estimate the memory that the model needs together with its vision tower (-mm)",
      .offset = offsetof(inspect_options, memory) },
    { .name = "--mmproj",
      .letters = "-mm",
      .label = "FILE",
      .type = S2_OPTION_FILE,
      .group = "What to show",
      .help = "the vision tower, for --memory",
      .offset = offsetof(inspect_options, mmproj) },
    { .name = "--ctx-size",
      .letters = "-c",
      .label = "N",
      .type = S2_OPTION_INT,
      .min = 1,
      .max = 1048576,
      .fallback = "4096",
      .group = "What to show",
      .help = "size of the context in tokens, for --memory",
      .offset = offsetof(inspect_options, context) },
    { .name = "--pictures",
      .label = "N",
      .type = S2_OPTION_INT,
      .min = 0,
      .max = MAX_PICTURES,
      .fallback = "1",
      .group = "What to show",
      .help = "number of pictures in a prompt, at the largest default size, for --memory",
      .offset = offsetof(inspect_options, pictures) },
    { .name = "--budget",
      .label = "N",
      .type = S2_OPTION_INT,
      .min = 0,
      .max = 1048576,
      .fallback = "64",
      .group = "What to show",
      .help = "tokens to keep per picture, for --memory; 0: all",
      .offset = offsetof(inspect_options, budget) },
    { .name = "--output",
      .letters = "-o",
      .label = "FMT",
      .type = S2_OPTION_CHOICE,
      .group = "Output",
      .choice = format_name,
      .fallback = "text",
      .help = "format of the report",
      .offset = offsetof(inspect_options, output) },
    { .name = NULL },
};

const s2_command s2_cmd_inspect = {
    .name = "inspect",
    .summary = "show the contents of a GGUF file, even a damaged one",
    .usage = "FILE [--kv] [--tensors] [--check] [--memory -mm FILE] [-o text|json]",
    .examples = "  s2prune inspect model.gguf\n"
                "  s2prune inspect mmproj.gguf --kv --tensors -o json\n"
                "\nThe exit code is 3 if the file is malformed or --check finds NaN or infinity.\n",
    .options = option_table,
    .operand = "a model file (FILE)",
    .min_operands = 1,
    .operand_offset = offsetof(inspect_options, files),
    .size = sizeof(inspect_options),
    .run = inspect_run,
};
