/* parameters.c - a method's own rows of parameters: defaults, text to values, checks.
 *
 * A fallback may stand outside of what can be set: 0 of 1 to 4096 says that the method has a rule.
 */
#include "prune/parameters.h"

#include "prune/method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const s2p_parameter *s2p_method_parameter(const s2p_method *method, size_t index)
{
    return index < (size_t)method->about.n_parameters ? &method->about.parameters[index] : NULL;
}

void s2p_parameters_init(const s2p_method *method, s2p_parameters *out)
{
    *out = (s2p_parameters){ { 0.0 } };
    for (int32_t i = 0; i < method->about.n_parameters; i++)
        out->value[i] = method->about.parameters[i].fallback;
}

static bool is_in_range(const s2p_parameter *p, double value)
{
    return value >= p->min && value <= p->max && (!p->is_integer || value == rint(value));
}

static s2p_status refuse_name(const s2p_method *method, const char *name, s2p_error *error)
{
    char names[160] = "";
    size_t n = 0;
    for (int32_t i = 0; i < method->about.n_parameters && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i > 0 ? ", " : "",
                              method->about.parameters[i].name);
    if (n == 0)
        return s2p_refuse(error, S2P_EINVAL, "method '%s' has no parameter '%.60s', nor any other",
                          method->about.name, name);
    return s2p_refuse(error, S2P_EINVAL, "method '%s' has no parameter '%.40s'; it has %s",
                      method->about.name, name, names);
}

static s2p_status refuse_value(const s2p_parameter *p, const char *value, s2p_error *error)
{
    return s2p_refuse(error, S2P_EINVAL, "%s '%.40s' is not a %s from %g to %.10g", p->name, value,
                      p->is_integer ? "whole number" : "number", p->min, p->max);
}

s2p_status s2p_parameters_set(const s2p_method *method, s2p_parameters *parameters,
                              const char *name, const char *value, s2p_error *error)
{
    for (int32_t i = 0; i < method->about.n_parameters; i++) {
        const s2p_parameter *p = &method->about.parameters[i];
        if (strcmp(p->name, name) != 0) continue;
        char *end;
        const double number = strtod(value, &end);
        if (end == value || *end != '\0' || !is_in_range(p, number))
            return refuse_value(p, value, error);
        parameters->value[i] = number;
        return S2P_OK;
    }
    return refuse_name(method, name, error);
}

s2p_status s2p_parameters_check(const s2p_method *method, const s2p_parameters *parameters,
                                s2p_error *error)
{
    for (int32_t i = 0; i < method->about.n_parameters; i++) {
        const s2p_parameter *p = &method->about.parameters[i];
        const double value = parameters->value[i];
        if (value == p->fallback || is_in_range(p, value)) continue;
        char text[40];
        (void)snprintf(text, sizeof text, "%.17g", value);
        return refuse_value(p, text, error);
    }
    return S2P_OK;
}
