/* options.c - defaults of the public options, and reading them from structs of another version. */
#include "engine/options.h"

#include "base/sized.h"

#define STRING(text) STRING_OF(text)
#define STRING_OF(text) #text

const char *s2v_version(void)
{
    return STRING(S2V_VERSION_MAJOR) "." STRING(S2V_VERSION_MINOR) "." STRING(S2V_VERSION_PATCH);
}

/* --- defaults -------------------------------------------------------------------- */

static const s2v_engine_options engine_defaults = { .size = sizeof engine_defaults,
                                                    .gpu_layers = -1 };
static const s2v_image_options image_defaults = { .size = sizeof image_defaults };
static const s2v_prompt prompt_defaults = { .size = sizeof prompt_defaults };
static const s2v_prune_options prune_defaults = { .size = sizeof prune_defaults,
                                                  .budget = { .tokens = 64 } };

static s2v_session_options session_defaults(void)
{
    s2v_session_options options = { .size = sizeof options, .kv_type_v = S2V_KV_SAME };
    s2v_sampling_init(&options.sampling);
    return options;
}

void s2v_engine_options_init_sized(s2v_engine_options *options, size_t size)
{
    s2_sized_init(options, size, &engine_defaults, sizeof engine_defaults);
}

void s2v_session_options_init_sized(s2v_session_options *options, size_t size)
{
    const s2v_session_options defaults = session_defaults();
    s2_sized_init(options, size, &defaults, sizeof defaults);
}

void s2v_image_options_init_sized(s2v_image_options *options, size_t size)
{
    s2_sized_init(options, size, &image_defaults, sizeof image_defaults);
}

void s2v_prompt_init_sized(s2v_prompt *prompt, size_t size)
{
    s2_sized_init(prompt, size, &prompt_defaults, sizeof prompt_defaults);
}

void s2v_prune_options_init_sized(s2v_prune_options *options, size_t size)
{
    s2_sized_init(options, size, &prune_defaults, sizeof prune_defaults);
}

/* --- reading --------------------------------------------------------------------- */

s2p_status s2v_engine_options_read(s2v_engine_options *out, const s2v_engine_options *from,
                                   s2p_error *error)
{
    if (!from) return s2_fail(error, S2P_EINVAL, "an engine needs options");
    *out = engine_defaults;
    return s2_sized_read(out, sizeof *out, from, "s2v_engine_options", error);
}

s2p_status s2v_sampling_read(s2v_sampling *out, const s2v_sampling *from, s2p_error *error)
{
    s2v_sampling read;
    s2v_sampling_init(&read);
    TRY(s2_sized_read(&read, sizeof read, from, "s2v_sampling", error));
    for (size_t i = 0; i < sizeof read.reserved / sizeof *read.reserved; i++)
        if (read.reserved[i] != 0)
            return s2_fail(error, S2P_EINVAL,
                           "s2v_sampling sets a field that this version of the library does not "
                           "know");
    if (read.constraint && read.ignore_eos)
        return s2_fail(error, S2P_EINVAL,
                       "ignore_eos cannot be combined with a schema, a grammar or tools");
    *out = read;
    return S2P_OK;
}

s2p_status s2v_session_options_read(s2v_session_options *out, const s2v_session_options *from,
                                    s2p_error *error)
{
    *out = session_defaults();
    if (!from) return S2P_OK;
    TRY(s2_sized_read(out, sizeof *out, from, "s2v_session_options", error));
    return s2v_sampling_read(&out->sampling, &out->sampling, error);
}

/* The elements of an array are as far apart as the caller's header says. */
static const s2v_image_options *image_options_at(const s2v_prompt *prompt, int32_t i)
{
    const char *first = (const char *)prompt->image_options;
    return (const s2v_image_options *)(const void *)(first +
                                                     (size_t)i * prompt->image_options->size);
}

s2p_status s2v_prompt_read(s2v_prompt *out, const s2v_prompt *from, s2p_error *error)
{
    if (!from) return s2_fail(error, S2P_EINVAL, "the prompt is missing");
    *out = prompt_defaults;
    TRY(s2_sized_read(out, sizeof *out, from, "s2v_prompt", error));
    if (out->reasoning_budget < 0)
        return s2_fail(error, S2P_EINVAL,
                       "invalid reasoning budget %d; the smallest is 0 (no limit)",
                       out->reasoning_budget);
    const int32_t n = out->n_images <= S2V_MAX_IMAGES ? out->n_images : 0; /* refused later */
    for (int32_t i = 0; out->image_options && i < n; i++) {
        s2v_image_options read = image_defaults;
        const s2v_image_options *one = image_options_at(out, i);
        TRY(s2_sized_read(&read, sizeof read, one, "s2v_image_options", error));
        if (one->size != out->image_options->size)
            return s2_fail(error, S2P_EINVAL,
                           "the image options of pictures 1 and %d have different sizes: %zu and "
                           "%zu",
                           i + 1, out->image_options->size, one->size);
    }
    return S2P_OK;
}

s2p_status s2v_prune_options_read(s2v_prune_options *out, const s2v_prune_options *from,
                                  s2p_error *error)
{
    *out = prune_defaults;
    return from ? s2_sized_read(out, sizeof *out, from, "s2v_prune_options", error) : S2P_OK;
}

s2v_image_options s2v_prompt_image_options(const s2v_prompt *prompt, int32_t i)
{
    s2v_image_options options = image_defaults;
    if (prompt->image_options)
        (void)s2_sized_read(&options, sizeof options, image_options_at(prompt, i),
                            "s2v_image_options", NULL);
    return options;
}
