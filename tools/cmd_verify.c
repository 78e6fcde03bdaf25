/* cmd_verify.c - `s2prune verify`: its options and its help.
 *
 * The work is done by s2prune-verify (tools/verify), which looks inside the engine; this program
 * does not.
 */
#include "program.h"
#include "report.h"
#include "verify_options.h"

#include <stddef.h>

/* clang-format off */
static const s2_option option_table[] = {
    { .name = "--arrays", .label = "DIR", .type = S2_OPTION_FILE, .group = "Goldens",
      .help = "folder with the .npy files (default: the folder of the case)",
      .offset = offsetof(s2_verify_options, arrays) },
    { .name = "--only", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Goldens",
      .help = "check only one method, folder, stage or file name, such as s2prune or alloc",
      .offset = offsetof(s2_verify_options, only) },
    { .name = "--device", .letters = "-dev", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Model",
      .fallback = "CPU", .help = "device to run models on (see 's2prune run --list-devices')",
      .offset = offsetof(s2_verify_options, device) },
    { .name = "--gpu-layers", .letters = "-ngl", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 1000,
      .min_word = "auto", .max_word = "all", .fallback = "-1", .group = "Model",
      .help = "number of decoder layers on the device, counted from the last; auto or -1: as many as fit",
      .offset = offsetof(s2_verify_options, gpu_layers) },
    { .name = "--no-mmproj-offload", .type = S2_OPTION_FLAG, .group = "Model",
      .help = "keep the vision tower on the CPU", .offset = offsetof(s2_verify_options, tower_on_cpu) },
    { .name = "--kernels", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Model",
      .help = "use these kernels for the vision tower instead of the fastest exact ones (see 's2prune --version')",
      .offset = offsetof(s2_verify_options, kernels) },
    { .name = "--slack", .label = "X", .type = S2_OPTION_REAL, .min = 1, .max = 1e6, .fallback = "1", .group = "Model",
      .help = "allow X times the numerical tolerance of the CPU",
      .offset = offsetof(s2_verify_options, slack) },
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,
      .group = "Output", .choice = s2_output_name, .fallback = "text", .help = "format of the report",
      .offset = offsetof(s2_verify_options, output) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_verify = {
    .name = "verify",
    .summary = "compare this build with recorded outputs",
    .usage = "DIR... [--arrays DIR] [--only NAME] [--device NAME] [-o text|json]",
    .examples = "  s2prune verify goldens/algo\n"
                "  s2prune verify goldens/methods --only s2prune\n"
                "  s2prune verify goldens/hf --device Vulkan0 --slack 20\n"
                "\nPrints one line per file, then 'N passed, N failed'. The exit code is 1 if a "
                "result differs,\n"
                "and 3 if a file is malformed or there is nothing to check.\n",
    .options = option_table,
    .operand = "a folder (DIR)",
    .min_operands = 1,
    .operand_offset = offsetof(s2_verify_options, folders),
    .size = sizeof(s2_verify_options),
    .program = "s2prune-verify",
};
