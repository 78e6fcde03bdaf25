/* config_read.c - one number, text or list at a time, checked as it is read. */
#include "convert/config_read.h"

#include <math.h>
#include <string.h>

void s2v_config_fail(s2v_config *config, s2p_status status, const char *key, const char *what)
{
    if (config->status == S2P_OK)
        config->status = s2_fail(config->error, status, "%s: '%s' %s", config->name, key, what);
}

const json_t *s2v_config_member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const json_t *s2v_config_text_member(const s2v_config *config, const char *key)
{
    const json_t *value = s2v_config_member(config->text, key);
    return value ? value : s2v_config_member(config->top, key);
}

int32_t s2v_config_to_int(s2v_config *config, const json_t *value, const char *key, int32_t min,
                          int32_t max)
{
    const json_int_t number = json_integer_value(value);
    if (!value)
        s2v_config_fail(config, S2P_EFORMAT, key, "is missing");
    else if (!json_is_integer(value))
        s2v_config_fail(config, S2P_EFORMAT, key, "is not an integer");
    else if (number < min || number > max)
        s2v_config_fail(config, S2P_ELIMIT, key, "is out of range");
    else
        return (int32_t)number;
    return min;
}

int32_t s2v_config_int(s2v_config *config, const json_t *object, const char *key, int32_t min,
                       int32_t max)
{
    return s2v_config_to_int(config, s2v_config_member(object, key), key, min, max);
}

int32_t s2v_config_text_int(s2v_config *config, const char *key, int32_t min, int32_t max)
{
    return s2v_config_to_int(config, s2v_config_text_member(config, key), key, min, max);
}

float s2v_config_to_float(s2v_config *config, const json_t *value, const char *key, double fallback)
{
    const double number = value ? json_number_value(value) : fallback;
    if (value && !json_is_number(value))
        s2v_config_fail(config, S2P_EFORMAT, key, "is not a number");
    else if (!(number > 0.0) || !(number <= 1e9))
        s2v_config_fail(config, S2P_EFORMAT, key, "is out of range");
    return (float)number;
}

void s2v_config_triple(s2v_config *config, const json_t *object, const char *key, bool is_scale,
                       float out[3])
{
    const json_t *list = s2v_config_member(object, key);
    if (json_array_size(list) != 3) {
        s2v_config_fail(config, S2P_EFORMAT, key, "is not a list of three numbers");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const json_t *item = json_array_get(list, i);
        const double value = json_number_value(item);
        if (!json_is_number(item) || !(fabs(value) <= 1e3) || (is_scale && !(value > 1e-6)))
            s2v_config_fail(config, S2P_EFORMAT, key, "is not a list of three numbers");
        out[i] = (float)value;
    }
}

static const char unsupported[] = "has a value that is not supported";

void s2v_config_expect_int(s2v_config *config, const json_t *object, const char *key,
                           int32_t expected)
{
    const json_t *value = s2v_config_member(object, key);
    if (value && (!json_is_integer(value) || json_integer_value(value) != expected))
        s2v_config_fail(config, S2P_EUNSUPPORTED, key, unsupported);
}

void s2v_config_expect_text(s2v_config *config, const json_t *object, const char *key,
                            const char *expected)
{
    const json_t *value = s2v_config_member(object, key);
    const char *text = json_string_value(value);
    if (value && (!text || strcmp(text, expected) != 0))
        s2v_config_fail(config, S2P_EUNSUPPORTED, key, unsupported);
}

void s2v_config_expect_bool(s2v_config *config, const json_t *object, const char *key,
                            bool expected)
{
    const json_t *value = s2v_config_member(object, key);
    if (value && (!json_is_boolean(value) || json_is_true(value) != expected))
        s2v_config_fail(config, S2P_EUNSUPPORTED, key, unsupported);
}
