/* test_constrain_schema.c - JSON schemas: each keyword by hand, merges, refusals with their pointers. */
#include "check.h"
#include "constrain/constraint.h"

#include <stdio.h>
#include <string.h>

static char judge(const char *schema, const char *text, s2p_error *error)
{
    s2c_constraint *c = NULL;
    bool is_allowed, is_complete;
    if (s2c_constraint_create(&c, S2C_JSON_SCHEMA, schema, strlen(schema), S2C_LINE, error) !=
        S2P_OK)
        return 'x';
    assert_int_equal(s2c_constraint_check(c, text, strlen(text), &is_allowed, &is_complete),
                     S2P_OK);
    s2c_constraint_free(c);
    return (char)(is_complete ? 'a' : is_allowed ? 'p' : 'r');
}

typedef struct example {
    const char *schema, *text;
    char expected;
} example;

static void check_all(const example *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s2p_error error = { S2P_OK, "" };
        const char got = judge(cases[i].schema, cases[i].text, &error);
        if (got != cases[i].expected)
            fail_msg("%s on %s: expected %c, got %c %s", cases[i].schema, cases[i].text,
                     cases[i].expected, got, error.message);
    }
}

static void test_scalars(void **state)
{
    static const example cases[] = {
        { "{\"type\":\"boolean\"}", "true", 'a' },
        { "{\"type\":\"boolean\"}", "True", 'r' },
        { "{\"type\":[\"integer\",\"null\"]}", "null", 'a' },
        { "{\"type\":\"integer\"}", "-12", 'a' },
        { "{\"type\":\"integer\"}", "-0", 'r' },
        { "{\"type\":\"integer\"}", "01", 'r' },
        { "{\"type\":\"integer\"}", "1.0", 'r' },
        { "{\"type\":\"number\"}", "-1.5e10", 'a' },
        { "{\"type\":\"integer\",\"minimum\":18,\"maximum\":120}", "17", 'r' },
        { "{\"type\":\"integer\",\"minimum\":18,\"maximum\":120}", "18", 'a' },
        { "{\"type\":\"integer\",\"minimum\":18,\"maximum\":120}", "120", 'a' },
        { "{\"type\":\"integer\",\"minimum\":18,\"maximum\":120}", "121", 'r' },
        { "{\"type\":\"integer\",\"minimum\":18,\"maximum\":120}", "1",
          'p' }, /* 18 and 100 are near */
        { "{\"type\":\"integer\",\"minimum\":-5,\"maximum\":-2}", "-3", 'a' },
        { "{\"type\":\"integer\",\"minimum\":-5,\"maximum\":-2}", "-6", 'r' },
        { "{\"type\":\"integer\",\"minimum\":-5,\"maximum\":-2}", "0", 'r' },
        { "{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1}", "0.0", 'p' },
        { "{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1}", "0.001", 'a' },
        { "{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1}", "1.00", 'a' },
        { "{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1}", "1.01", 'r' },
        { "{\"type\":\"number\",\"minimum\":0.05}", "0.04", 'r' },
        { "{\"type\":\"number\",\"minimum\":0.05}", "0.0", 'p' },
        { "{\"type\":\"number\",\"minimum\":0.05}", "0.05", 'a' },
        { "{\"type\":\"number\",\"multipleOf\":0.01}", "12.34", 'a' },
        { "{\"type\":\"number\",\"multipleOf\":0.01}", "12.345", 'r' },
        { "{\"type\":\"number\",\"multipleOf\":2.5}", "7.5", 'a' },
        { "{\"type\":\"number\",\"multipleOf\":2.5}", "7.0", 'r' },
        { "{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":8,\"maximum\":20}", "14", 'a' },
        { "{\"const\":0.070}", "0.070", 'a' }, /* as the schema spells it */
        { "{\"enum\":[\"a\",1,null,{\"b\":[1,2]}]}", "{\"b\": [1, 2]}", 'a' },
        { "{\"enum\":[\"a\",1],\"type\":\"string\"}", "1", 'r' },
        { "{\"enum\":[\"a\\\"b\"]}", "\"a\\\"b\"", 'a' },
    };
    (void)state;
    check_all(cases, sizeof cases / sizeof *cases);
}

static void test_strings(void **state)
{
    static const example cases[] = {
        { "{\"type\":\"string\"}", "\"\xC3\xA4 \\n\"", 'a' },
        { "{\"type\":\"string\"}", "\"\\u0041", 'r' }, /* printable characters are not escaped */
        { "{\"type\":\"string\"}", "\"\\u001f\"", 'a' },
        { "{\"type\":\"string\"}", "\"\n\"", 'r' },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\xE6\x97\xA5\xE6\x9C\xAC\"",
          'a' },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"a\"", 'r' },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"abcd", 'r' },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\\\"\\\\\"",
          'a' },                                                        /* an escape is one */
        { "{\"type\":\"string\",\"pattern\":\"b+\"}", "\"abc\"", 'a' }, /* searched for */
        { "{\"type\":\"string\",\"pattern\":\"^b+$\"}", "\"abc", 'r' },
        { "{\"type\":\"string\",\"pattern\":\"^(a|b$)\"}", "\"b\"", 'a' },
        { "{\"type\":\"string\",\"pattern\":\"^(a|b$)\"}", "\"bx", 'r' },
        { "{\"type\":\"string\",\"pattern\":\"^a\",\"maxLength\":2}", "\"abc", 'r' },
        { "{\"type\":\"string\",\"pattern\":\"^[\\\\w.-]{2,3}$\"}", "\"a.-\"", 'a' },
        { "{\"type\":\"string\",\"format\":\"date\"}", "\"2024-02-29\"", 'a' },
        { "{\"type\":\"string\",\"format\":\"date\"}", "\"2023-02-29\"", 'r' },
        { "{\"type\":\"string\",\"format\":\"date\"}", "\"1900-02-29\"", 'r' },
        { "{\"type\":\"string\",\"format\":\"ipv4\"}", "\"192.168.0.256\"", 'r' },
        { "{\"type\":\"string\",\"format\":\"email\"}", "\"a.b@c.de\"", 'a' },
        { "{\"type\":\"string\",\"format\":\"email\"}", "\"a@b\"", 'r' },
    };
    (void)state;
    check_all(cases, sizeof cases / sizeof *cases);
}

static void test_containers(void **state)
{
    static const char receipt[] =
        "{\"type\":\"object\",\"properties\":{\"shop\":{\"type\":\"string\"},"
        "\"note\":{\"type\":\"null\"},\"total\":{\"type\":\"number\"}},"
        "\"required\":[\"shop\",\"total\"]}";
    static const char tree[] = "{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},"
                               "\"next\":{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}},"
                               "\"required\":[\"v\",\"next\"],\"additionalProperties\":false}";
    static const example cases[] = {
        { "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}",
          "[1, 2]", 'a' },
        { "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}",
          "[]", 'r' },
        { "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}",
          "[1,2,", 'r' },
        { "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"},{\"type\":\"boolean\"}]}",
          "[null,true]", 'a' },
        { "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"items\":false}", "[null,",
          'r' },
        { receipt, "{\"shop\":\"x\",\"total\":1.5}", 'a' },
        { receipt, "{\"shop\": \"x\", \"note\": null, \"total\": 1}", 'a' },
        { receipt, "{\"total\"", 'r' },            /* not in the schema's order */
        { receipt, "{\"shop\":\"x\"}", 'r' },      /* total is required */
        { receipt, "{\"shop\":\"x\",\"sho", 'r' }, /* no key twice, no other key */
        { receipt, "{  \"shop\"", 'r' },           /* one space at most, and not there */
        { tree, "{\"v\":1,\"next\":{\"v\":2,\"next\":null}}", 'a' },
        { tree, "{\"v\":1,\"next\":{}", 'r' },
        { "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}",
          "{\"any\":1,\"b\":2}", 'a' },
        { "{\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"null\"}},"
          "\"additionalProperties\":"
          "{\"type\":\"integer\"}}",
          "{\"ab\":1", 'r' }, /* a named key is not a further one */
        { "{\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"null\"}},"
          "\"additionalProperties\":"
          "{\"type\":\"integer\"}}",
          "{\"a\":1,\"abc\":2}", 'a' },
        { "{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]},"
          "{\"properties\":{\"a\":{\"minimum\":5},\"b\":{\"type\":\"null\"}}}]}",
          "{\"a\":5,\"b\":null}", 'a' },
        { "{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]},"
          "{\"properties\":{\"a\":{\"minimum\":5}}}]}",
          "{\"a\":4}", 'r' },
        { "{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"x\"}},\"required\":["
          "\"k\"]},"
          "{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"y\"}},\"required\":[\"k\"]}]}",
          "{\"k\":\"y\"}", 'a' },
        { "{}", "[{\"a\": [1, null]}]", 'a' },
    };
    (void)state;
    check_all(cases, sizeof cases / sizeof *cases);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *schema, *sentence; /* how it begins */
    } cases[] = {
        { "{\"properties\":{\"tags\":{\"uniqueItems\":true}}}", "/properties/tags/uniqueItems: " },
        { "{\"not\":{\"type\":\"null\"}}", "/not: " },
        { "{\"type\":\"strin\"}", "/type: " },
        { "{\"type\":\"string\",\"pattern\":\"(?=a)b\"}", "/pattern: " },
        { "{\"type\":\"string\",\"format\":\"postcode\"}", "/format: " },
        { "{\"$ref\":\"#\"}", "/: " },
        { "{\"$ref\":\"other.json\"}", "/$ref: " },
        { "{\"$ref\":\"#/$defs/x\"}", "/$ref: " },
        { "{\"type\":\"integer\",\"minimum\":18,\"maximum\":12}", "/: nothing" },
        { "{\"type\":\"object\",\"required\":[\"b\"],\"properties\":{},\"additionalProperties\":"
          "false}",
          "/: nothing" },
        { "{\"oneOf\":[{\"minimum\":1},{\"maximum\":5}]}", "/oneOf: " },
        { "{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],\"properties\":{\"a\":{},"
          "\"b\":{}}}",
          "/oneOf: " },
        { "{\"minProperties\":2}", "/minProperties: " },
        { "{\"multipleOf\":0}", "/multipleOf: " },
        { "{\"a/b\":1,\"properties\":{\"a/b~\":{\"not\":{}}}}", "/properties/a~1b~0/not: " },
        { "[1]", "/: a schema must be" },
        { "{\"type\":\"string\",\"type\":\"null\"}", "byte " },
        { "{\"type\":\"string\"", "byte " },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s2p_error error = { S2P_OK, "" };
        const char got = judge(cases[i].schema, "", &error);
        if (got != 'x' || strncmp(error.message, cases[i].sentence, strlen(cases[i].sentence)) != 0)
            fail_msg("%s: %c '%s'", cases[i].schema, got, error.message);
    }
}

/* A thousand optional keys: any of them may follow any earlier one. */
static void test_many_keys(void **state)
{
    static char schema[64 * 1024];
    size_t n = (size_t)snprintf(schema, sizeof schema, "{\"type\":\"object\",\"properties\":{");
    (void)state;
    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(schema + n, sizeof schema - n, "%s\"key-%d\":{\"type\":\"integer\"}",
                              i ? "," : "", i);
    snprintf(schema + n, sizeof schema - n, "},\"required\":[\"key-500\"]}");
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(
        judge(schema, "{\"key-3\":1,\"key-499\":2,\"key-500\":3,\"key-999\":4}", &error), 'a');
    assert_int_equal(judge(schema, "{\"key-3\":1,\"key-501\"", &error), 'r');
    assert_int_equal(judge(schema, "{\"key-3\":1}", &error), 'r');
    assert_int_equal(judge(schema, "{\"key-500\":1,\"key-4\"", &error), 'r');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),    cmocka_unit_test(test_strings),
        cmocka_unit_test(test_containers), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
