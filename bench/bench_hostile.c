/* bench_hostile.c - the CPU time and the counted steps of compiling schemas and grammars, one JSON object a line:
 * {"kind": "schema" or "grammar", "name":, "text":}. Prints name, ms, steps, whether it was taken, and why not. */
#include "constrain/gbnf.h"
#include "constrain/matcher.h"
#include "constrain/schema.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        json_t *json = json_loads(line, JSON_ALLOW_NUL, NULL);
        const json_t *text = json_object_get(json, "text");
        const char *kind = json_string_value(json_object_get(json, "kind"));
        if (!kind || !json_is_string(text)) return 2;
        s2c_grammar g;
        s2p_error error = { S2P_OK, "" };
        s2c_grammar_init(&g);
        const double begin = cpu_ms();
        const s2p_status st =
            strcmp(kind, "schema") == 0
                ? s2c_schema(&g, json_string_value(text), json_string_length(text), S2C_LINE,
                             &error)
                : s2c_gbnf(&g, json_string_value(text), json_string_length(text), &error);
        s2c_matcher *m = st == S2P_OK ? s2c_matcher_create(&g) : NULL;
        s2c_matcher_free(m);
        printf("%s\t%.2f\t%lld\t%s\t%.120s\n", json_string_value(json_object_get(json, "name")),
               cpu_ms() - begin, (long long)g.n_steps, st == S2P_OK ? "taken" : "refused",
               error.message);
        s2c_grammar_free(&g);
        json_decref(json);
    }
    free(line);
    return 0;
}
