/* cmd_convert.c - `s2prune convert`: a published checkpoint becomes the pair of files `run` takes.
 *
 * The library does the work (engine/convert.h); here its result becomes a manifest with hashes.
 */
#include "base/json.h"
#include "base/sha256.h"
#include "convert/convert.h"
#include "program.h"
#include "progress.h"
#include "report.h"

#include <inttypes.h>
#include <stddef.h>

typedef struct convert_options {
    s2_list folders;
    const char *outfile, *mmproj_out, *name;
    int32_t type, threads, output, progress;
    bool verify, quiet;
} convert_options;

static int show_progress(const char *step, double done, void *user)
{
    return s2_progress_show(user, step, done);
}

static void print_text(const s2v_convert_options *o, const s2v_convert_result *r, s2_buffer *out)
{
    s2_buffer_printf(out, "%s: %s, %zu file%s, %.1f MiB\n", o->folder, r->architecture, r->n_files,
                     r->n_files == 1 ? "" : "s", (double)r->n_bytes / (1 << 20));
    for (int i = 0; i < 2; i++) {
        const s2v_convert_file *file = i ? &r->vision : &r->text;
        char sha256[S2_SHA256_HEX];
        s2_sha256_hex(file->sha256, sha256);
        s2_buffer_printf(out,
                         "%s: %s, %zu tensors, %" PRIu64 " values, %" PRIu64 " bytes\n"
                         "  sha256 %s\n",
                         i ? o->mmproj_out : o->outfile, s2v_convert_type_name(o->type),
                         file->n_tensors, file->n_values, file->n_bytes, sha256);
    }
    if (r->n_ignored)
        s2_buffer_printf(out, "left out: %zu tensors no engine reads\n", r->n_ignored);
    if (o->verify) s2_buffer_printf(out, "verified: both files hold what was converted\n");
}

static json_t *pack_file(const char *path, const s2v_convert_file *file)
{
    char sha256[S2_SHA256_HEX];
    s2_sha256_hex(file->sha256, sha256);
    return json_pack("{s:s, s:I, s:I, s:I, s:s}", "file", path, "tensors",
                     (json_int_t)file->n_tensors, "values", (json_int_t)file->n_values, "bytes",
                     (json_int_t)file->n_bytes, "sha256", sha256);
}

static void print_json(const s2v_convert_options *o, const s2v_convert_result *r, s2_buffer *out)
{
    json_t *report = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:b, s:o, s:o}", "schema", "s2prune.convert/1",
        "folder", o->folder, "architecture", r->architecture, "files", (json_int_t)r->n_files,
        "bytes", (json_int_t)r->n_bytes, "left_out", (json_int_t)r->n_ignored, "type",
        s2v_convert_type_name(o->type), "verified", (int)o->verify, "model",
        pack_file(o->outfile, &r->text), "mmproj", pack_file(o->mmproj_out, &r->vision));
    if (report)
        (void)s2_json_write(report, 9, out);
    else
        out->status = S2P_ENOMEM;
    s2_buffer_append(out, "\n", 1);
    json_decref(report);
}

static int exit_of(s2p_status st, const s2v_convert_result *result, const s2p_error *error)
{
    const int code = s2_report_error(st, error);
    if (st != S2P_EIO || result->write_errno == 0) return code;
    return s2_exit_of_write(result->write_errno);
}

static int convert_run(const void *values)
{
    const convert_options *options = values;
    s2p_error error = { S2P_OK, "" };
    if (options->folders.n != 1) {
        s2_fail(&error, S2P_EINVAL, "convert takes one folder, not %zu", options->folders.n);
        return s2_report_error(S2P_EINVAL, &error);
    }
    s2_progress progress;
    s2_progress_start(&progress, (s2_progress_form)options->progress, options->quiet);
    const s2v_convert_options o = { .folder = options->folders.item[0],
                                    .outfile = options->outfile,
                                    .mmproj_out = options->mmproj_out,
                                    .name = options->name,
                                    .type = (size_t)options->type,
                                    .verify = options->verify,
                                    .codec = s2v_block_codec(),
                                    .n_threads = options->threads,
                                    .progress = show_progress,
                                    .user = &progress };
    s2v_convert_result result;
    const s2p_status st = s2v_convert(&o, &result, &error);
    s2_progress_clear(&progress);
    if (st != S2P_OK) return exit_of(st, &result, &error);
    s2_report_wrote(o.outfile);
    s2_report_wrote(o.mmproj_out);

    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (options->output == S2_OUTPUT_JSON)
        print_json(&o, &result, &out);
    else
        print_text(&o, &result, &out);
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}

#define AT(member) .offset = offsetof(convert_options, member)

static const s2_option option_table[] = {
    { .name = "--outfile",
      .label = "FILE",
      .type = S2_OPTION_FILE,
      .is_required = true,
      .group = "What to write",
      .help = "file to write the language model to",
      .role = S2_FILE_OUTPUT,
      .writes = ".gguf",
      AT(outfile) },
    { .name = "--mmproj-out",
      .label = "FILE",
      .type = S2_OPTION_FILE,
      .is_required = true,
      .group = "What to write",
      .help = "file to write the vision tower and projector to",
      .role = S2_FILE_OUTPUT,
      .writes = ".gguf",
      AT(mmproj_out) },
    { .name = "--type",
      .label = "TYPE",
      .type = S2_OPTION_CHOICE,
      .group = "What to write",
      .choice = s2v_convert_type_name,
      .fallback = "f16",
      .help = "data type of the matrices (for smaller types, use 's2prune quantize' afterwards)",
      AT(type) },
    { .name = "--name",
      .label = "TEXT",
      .type = S2_OPTION_TEXT,
      .group = "What to write",
      .help = "name of the model in the files (default: the name of the folder)",
      AT(name) },
    { .name = "--verify",
      .type = S2_OPTION_FLAG,
      .group = "Work",
      .help = "read both files back and compare them before they are renamed to their final names",
      AT(verify) },
    { .name = "--threads",
      .letters = "-t",
      .label = "N",
      .type = S2_OPTION_INT,
      .min = 0,
      .max = 256,
      .group = "Work",
      .fallback = "0",
      .help = "number of threads; 0: one per core",
      AT(threads) },
    { .name = "--output",
      .letters = "-o",
      .label = "FMT",
      .type = S2_OPTION_CHOICE,
      .group = "Output",
      .choice = s2_output_name,
      .fallback = "text",
      .help = "format of the manifest",
      AT(output) },
    { .name = "--progress",
      .label = "FORM",
      .type = S2_OPTION_CHOICE,
      .group = "Output",
      .choice = s2_progress_name,
      .fallback = "auto",
      .help = "how to report progress on standard error; auto: a bar if it is a terminal",
      AT(progress) },
    { .name = "--quiet",
      .letters = "-q",
      .type = S2_OPTION_FLAG,
      .group = "Output",
      .help = "print no progress",
      AT(quiet) },
    { .name = NULL },
};

const s2_command s2_cmd_convert = {
    .name = "convert",
    .summary = "make GGUF files from a Hugging Face checkpoint (safetensors)",
    .usage = "DIR --outfile m.gguf --mmproj-out mm.gguf [--type f32|f16|bf16|q8_0] [--verify]",
    .examples = "  s2prune convert Qwen2.5-VL-3B-Instruct --outfile m.gguf --mmproj-out mm.gguf\n"
                "  s2prune convert llava-onevision-qwen2-7b-ov-hf --outfile m.gguf \\\n"
                "      --mmproj-out mm.gguf --type bf16 --verify\n"
                "\nDIR contains config.json, tokenizer.json, tokenizer_config.json,\n"
                "preprocessor_config.json and model.safetensors (or its parts and their index) of\n"
                "Qwen2.5-VL, Qwen2-VL, Qwen3-VL, LLaVA-OneVision, LLaVA-1.5, InternVL3, SmolVLM,\n"
                "Gemma 3 or Qwen3.5. The files get their names only when both are complete.\n",
    .options = option_table,
    .operand = "a folder (DIR)",
    .min_operands = 1,
    .operand_offset = offsetof(convert_options, folders),
    .operand_role = { S2_FILE_INPUT },
    .size = sizeof(convert_options),
    .run = convert_run,
};
