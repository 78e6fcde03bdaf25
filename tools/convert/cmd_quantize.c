/* cmd_quantize.c - `s2prune quantize`: a model file with smaller weights, and what it cost.
 *
 * The library does the work (engine/quantize.h); here its table becomes text or JSON.
 */
#include "base/json.h"
#include "base/sha256.h"
#include "convert/quantize.h"
#include "program.h"
#include "progress.h"
#include "report.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

typedef struct quantize_options {
    s2_list operands; /* input, output, type */
    int32_t keep_layer0, threads, output, progress;
    bool quiet;
} quantize_options;

typedef struct quantize_context {
    const quantize_options *options;
    s2_progress progress;
    s2_buffer table; /* text */
    json_t *tensors; /* or JSON */
} quantize_context;

static const char *layer0_name(size_t index)
{
    static const char *const names[] = { "same", "f32", "f16", "bf16", "q8_0" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const char *layer0_type(int32_t index)
{
    static const char *const types[] = { NULL, "F32", "F16", "BF16", "Q8_0" };
    return types[index];
}

static s2p_status find_type(const char *name, size_t *out, s2p_error *error)
{
    for (size_t i = 0; s2v_quant_name(i); i++)
        if (strcasecmp(s2v_quant_name(i), name) == 0) {
            *out = i;
            return S2P_OK;
        }
    return s2_fail(error, S2P_EINVAL,
                   "unknown type '%.40s'; use Q4_0, Q4_K_M, Q5_K_M, Q6_K, Q8_0, F16 and BF16",
                   name);
}

static int show_progress(const char *step, double done, void *user)
{
    return s2_progress_show(&((quantize_context *)user)->progress, step, done);
}

static void add_tensor(const s2v_quant_tensor *t, void *user)
{
    quantize_context *context = user;
    if (context->options->output == S2_OUTPUT_JSON)
        (void)json_array_append_new(context->tensors,
                                    json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", t->name, "from",
                                              t->from, "to", t->to, "bytes_from",
                                              (json_int_t)t->n_bytes_from, "bytes_to",
                                              (json_int_t)t->n_bytes_to));
    else if (!context->options->quiet)
        s2_buffer_printf(&context->table, "  %-40s %-5s %-5s %12" PRIu64 " %12" PRIu64 "\n",
                         t->name, t->from, t->to, t->n_bytes_from, t->n_bytes_to);
}

static double mib(uint64_t n_bytes) { return (double)n_bytes / (1 << 20); }

static void print_text(quantize_context *context, const s2v_quant_options *o,
                       const s2v_quant_result *r, const char *sha256)
{
    s2_buffer *out = &context->table;
    const double values = r->n_values ? (double)r->n_values : 1.0;
    s2_buffer_printf(out, "%s: %s, %zu tensors, %.1f MiB -> %.1f MiB (%.2f bits per weight)\n",
                     o->output, s2v_quant_name(o->type), r->n_tensors, mib(r->n_bytes_from),
                     mib(r->n_bytes_to), 8.0 * (double)r->n_bytes_to / values);
    if (r->n_fallback)
        s2_buffer_printf(out, "fallback %zu tensors whose rows do not fit the type's blocks\n",
                         r->n_fallback);
    s2_buffer_printf(out, "sha256 %s\n", sha256);
}

static void print_json(quantize_context *context, const s2v_quant_options *o,
                       const s2v_quant_result *r, const char *sha256)
{
    json_t *report =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:O}", "schema",
                  "s2prune.quantize/1", "input", o->input, "output", o->output, "type",
                  s2v_quant_name(o->type), "bytes_from", (json_int_t)r->n_bytes_from, "bytes_to",
                  (json_int_t)r->n_bytes_to, "values", (json_int_t)r->n_values, "fallback",
                  (json_int_t)r->n_fallback, "sha256", sha256, "tensors", context->tensors);
    if (report)
        (void)s2_json_write(report, 9, &context->table);
    else
        context->table.status = S2P_ENOMEM;
    s2_buffer_append(&context->table, "\n", 1);
    json_decref(report);
}

static int exit_of(s2p_status st, const s2v_quant_result *result, const s2p_error *error)
{
    const int code = s2_report_error(st, error);
    if (st != S2P_EIO || result->write_errno == 0) return code;
    return s2_exit_of_write(result->write_errno);
}

static int quantize_run(const void *values)
{
    const quantize_options *options = values;
    s2p_error error = { S2P_OK, "" };
    s2v_quant_options o = { .keep_layer0 = layer0_type(options->keep_layer0),
                            .codec = s2v_block_codec(),
                            .n_threads = options->threads,
                            .progress = show_progress,
                            .tensor = add_tensor };
    s2p_status st = S2P_OK;
    if (options->operands.n != 3)
        st = s2_fail(&error, S2P_EINVAL, "quantize takes IN OUT TYPE, not %zu operands",
                     options->operands.n);
    else
        st = find_type(options->operands.item[2], &o.type, &error);
    if (st != S2P_OK) return s2_report_error(st, &error);

    quantize_context context = { .options = options, .tensors = json_array() };
    s2v_quant_result result;
    o.input = options->operands.item[0];
    o.output = options->operands.item[1];
    o.user = &context;
    s2_progress_start(&context.progress, (s2_progress_form)options->progress, options->quiet);
    s2_buffer_init(&context.table, S2_OUTPUT_MAX);
    st = s2v_quantize(&o, &result, &error);
    s2_progress_clear(&context.progress);
    int code;
    if (st != S2P_OK) {
        code = exit_of(st, &result, &error);
    } else {
        char sha256[S2_SHA256_HEX];
        s2_report_wrote(o.output);
        s2_sha256_hex(result.sha256, sha256);
        if (options->output == S2_OUTPUT_JSON)
            print_json(&context, &o, &result, sha256);
        else
            print_text(&context, &o, &result, sha256);
        code = s2_report_print(&context.table);
    }
    s2_buffer_free(&context.table);
    json_decref(context.tensors);
    return code;
}

#define AT(member) .offset = offsetof(quantize_options, member)

static const s2_option option_table[] = {
    { .name = "--keep-layer0",
      .label = "TYPE",
      .type = S2_OPTION_CHOICE,
      .group = "What to write",
      .choice = layer0_name,
      .fallback = "same",
      .help = "data type of decoder layer 0, which S2Prune uses to select tokens",
      AT(keep_layer0) },
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
      .help = "format of the report",
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
      .help = "print no progress and no table of tensors",
      AT(quiet) },
    { .name = NULL },
};

const s2_command s2_cmd_quantize = {
    .name = "quantize",
    .summary = "quantize a model file",
    .usage = "IN.gguf OUT.gguf TYPE [--keep-layer0 f16] [-t N] [-o text|json]",
    .examples =
        "  s2prune quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M\n"
        "  s2prune quantize mmproj-f16.gguf mmproj-q8_0.gguf Q8_0\n"
        "\nTYPE is Q4_0, Q4_K_M, Q5_K_M, Q6_K, Q8_0, F16 or BF16. The input must be F32, F16\n"
        "or BF16. OUT gets its name only when it is complete.\n",
    .options = option_table,
    .operand = "IN, OUT and TYPE",
    .min_operands = 3,
    .operand_offset = offsetof(quantize_options, operands),
    .operand_role = { S2_FILE_INPUT, S2_FILE_OUTPUT },
    .operand_writes = ".gguf",
    .size = sizeof(quantize_options),
    .run = quantize_run,
};
