/* schema_string.c - patterns, formats and lengths of strings as one automaton. */
#include "constrain/shape.h"

#include <string.h>

/* Labels of letters, digits and single hyphens inside. Their lengths are a second pattern: labels of at most
 * 63 characters, a name of at most 253 (a little less is offered). */
#define LABEL "[A-Za-z0-9](?:-?[A-Za-z0-9])*"
#define LENGTHS(least) \
    "(?:[^.@]{1,63}(?:\\.[^.@]{1,63}){" least ",2}|[^.@]{1,30}(?:\\.[^.@]{1,30}){" least ",7})"
#define DATE                                                                                       \
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-" \
    "9]|30)|"                                                                                      \
    "02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|"                   \
    "(?:[02468][048]|[13579][26])00)-02-29)"
#define TIME                                                                                      \
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[" \
    "0-5][0-9])"
#define OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4 OCTET "(?:\\." OCTET "){3}"
#define H16 "[0-9a-fA-F]{1,4}"
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define AUTHORITY "(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})"
#define HOST_CHARACTER "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
#define URI_CHARACTER "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"

/* A regular subset of each format, within its standard. */
static const struct {
    const char *name, *pattern; /* NULL: no constraint */
    const char *also;           /* a second pattern that must hold; NULL: none */
} formats[] = {
    { "date", "^" DATE "$", NULL },
    { "time", "^" TIME "$", NULL },
    { "date-time", "^" DATE "T" TIME "$", NULL },
    { "duration",
      "^P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|"
      "[0-9]+D)(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|"
      "[0-9]+S))?|T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|"
      "[0-9]+S))$",
      NULL },
    { "uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
      NULL },
    { "ipv4", "^" IPV4 "$", NULL },
    { "ipv6",
      "^(?:(?:" H16 ":){7}" H16 "|(?:" H16 ":){1,7}:|(?:" H16 ":){1,6}:" H16 "|(?:" H16
      ":){1,5}(?::" H16 "){1,2}|(?:" H16 ":){1,4}(?::" H16 "){1,3}|(?:" H16 ":){1,3}(?::" H16
      "){1,4}|(?:" H16 ":){1,2}(?::" H16 "){1,5}|" H16 ":(?::" H16 "){1,6}|:(?:(?::" H16
      "){1,7}|:)|(?:" H16 ":){6}" IPV4 "|::(?:" H16 ":){0,5}" IPV4 ")$",
      NULL },
    { "hostname", "^" LABEL "(?:\\." LABEL ")*$", "^" LENGTHS("0") "$" },
    { "email", "^" ATOM "(?:\\." ATOM ")*@" LABEL "(?:\\." LABEL ")+$",
      "^[^@]{1,64}@" LENGTHS("1") "$" },
    { "uri",
      "^[A-Za-z][A-Za-z0-9+.-]*:(?://(?:" AUTHORITY "*@)?" HOST_CHARACTER
      "*(?::[0-9]*)?(?:/" URI_CHARACTER "*)*|/(?:" URI_CHARACTER "+(?:/" URI_CHARACTER
      "*)*)?|" URI_CHARACTER "+(?:/" URI_CHARACTER "*)*)(?:\\?(?:" URI_CHARACTER
      "|[/?])*)?(?:#(?:" URI_CHARACTER "|[/?])*)?$",
      NULL },
    { "int32", NULL, NULL },
    { "int64", NULL, NULL },
    { "float", NULL, NULL },
    { "double", NULL, NULL },
    { "password", NULL, NULL },
    { "binary", NULL, NULL },
    { "byte", NULL, NULL },
};

static s2p_status read_pattern(s2c_compiler *c, int32_t node, s2c_nfa *out, bool *is_free)
{
    const s2c_node *text = &c->document.node[node];
    char where[256];
    s2c_pointer(&c->document, node, where, sizeof where);
    *is_free = false;
    if (s2c_same_text(text->key, text->key_size, "pattern", 7))
        return s2c_regex(text->text, text->size, where, out, c->g, c->error);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!s2c_is_text(text, formats[i].name)) continue;
        *is_free = formats[i].pattern == NULL;
        if (*is_free) return S2P_OK;
        TRY(s2c_regex(formats[i].pattern, strlen(formats[i].pattern), where, out, c->g, c->error));
        if (!formats[i].also) return S2P_OK;
        s2c_nfa also, both;
        s2p_status st =
            s2c_regex(formats[i].also, strlen(formats[i].also), where, &also, c->g, c->error);
        s2c_nfa_init(&both);
        if (st == S2P_OK) st = s2c_nfa_both(out, &also, &both, c->g);
        s2c_nfa_free(&also);
        s2c_nfa_free(out);
        *out = both;
        return st;
    }
    return s2c_refuse(
        c, node,
        "unknown format; there are date, time, date-time, duration, uuid, ipv4, ipv6, hostname, "
        "email and uri");
}

s2p_status s2c_string_automaton(s2c_compiler *c, const s2c_shape *shape, s2c_nfa *out)
{
    bool has_any = false;
    s2c_nfa_init(out);
    for (int32_t i = 0; i <= shape->patterns.n; i++) {
        s2c_nfa next, both;
        bool is_free = false;
        s2p_status st;
        s2c_nfa_init(&next);
        if (i < shape->patterns.n) {
            st = read_pattern(c, shape->patterns.node[i], &next, &is_free);
        } else { /* the length */
            if (has_any && shape->min_length == 0 && shape->max_length == INT64_MAX) break;
            if (shape->min_length > S2C_NFA_MAX_STATES ||
                (shape->max_length != INT64_MAX && shape->max_length > S2C_NFA_MAX_STATES))
                return s2c_refuse(
                    c, shape->patterns.n > 0 ? shape->patterns.node[0] : 0,
                    "a length together with a pattern or format is too large (limit %d)",
                    S2C_NFA_MAX_STATES);
            st = s2c_nfa_of_length(
                (int32_t)shape->min_length,
                shape->max_length == INT64_MAX ? S2C_NO_LENGTH : (int32_t)shape->max_length, &next);
        }
        if (st == S2P_OK && is_free) continue;
        if (st == S2P_OK && !has_any) {
            *out = next;
            has_any = true;
            continue;
        }
        if (st == S2P_OK) {
            st = s2c_nfa_both(out, &next, &both, c->g);
            s2c_nfa_free(out);
            *out = both;
        }
        s2c_nfa_free(&next);
        if (st == S2P_ELIMIT && c->g->status == S2P_OK)
            return s2c_refuse(c, shape->patterns.node[0],
                              "patterns, formats and lengths together need more than %d states",
                              S2C_NFA_MAX_STATES);
        if (st != S2P_OK) return st;
    }
    return S2P_OK;
}
