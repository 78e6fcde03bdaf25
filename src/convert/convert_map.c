/* convert_map.c - which tensor of a checkpoint becomes which tensor of the pair.
 *
 * The tables are the families'. A name is first brought to one spelling (layouts differ
 * in their prefixes only), then looked up; '#' stands for the number of a layer. The shape must be
 * the one the configuration says. Afterwards every line of the table must have been met for every
 * layer.
 */
#include "convert/convert_steps.h"

#include "convert/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct planner {
    const s2v_numbers *numbers;
    const s2v_family *family;
    s2v_tensor_type type;
    s2v_conversion_plan *plan;
    size_t room;
    uint8_t *seen[2]; /* text, vision: [row][layer] */
    bool are_turned;  /* matrices of experts: what a square one of them is */
    s2p_error *error;
} planner;

/* --- names ----------------------------------------------------------------------------------- */

/* The name in the table's spelling; false when no prefix fits. */
static bool spell(const planner *p, const char *name, char *out, size_t room)
{
    for (const s2v_map_prefix *prefix = p->family->prefixes; prefix->found; prefix++) {
        const size_t n = strlen(prefix->found);
        if (strncmp(name, prefix->found, n) != 0) continue;
        const int length = snprintf(out, room, "%s%s", prefix->spelt, name + n);
        return length > 0 && (size_t)length < room;
    }
    return false;
}

typedef struct place { /* what a name says of where its tensor belongs; -1: nothing */
    int32_t layer, expert;
} place;

/* '#' and '@' take a number without leading zeros, '*' at the end takes the rest. */
static bool matches(const char *pattern, const char *name, place *at)
{
    *at = (place){ -1, -1 };
    for (; *pattern; pattern++) {
        if (*pattern == '*') return true;
        if (*pattern != '#' && *pattern != '@') {
            if (*pattern != *name++) return false;
            continue;
        }
        if (name[0] == '0' && name[1] >= '0' && name[1] <= '9') return false;
        int32_t number = 0, n_digits = 0;
        for (; *name >= '0' && *name <= '9' && n_digits < 6; name++, n_digits++)
            number = 10 * number + (*name - '0');
        if (n_digits == 0) return false;
        *(*pattern == '#' ? &at->layer : &at->expert) = number;
    }
    return *name == '\0';
}

static const s2v_map_row *find_row(const s2v_map_row *rows, const char *name, place *at)
{
    for (; rows->from; rows++)
        if (matches(rows->from, name, at)) return rows;
    return NULL;
}

static size_t count_rows(const s2v_map_row *rows)
{
    size_t n = 0;
    while (rows[n].from) n++;
    return n;
}

/* The result's name: '#' becomes the layer, '?' the letter. */
static void make_name(const char *pattern, int32_t layer, char letter, char out[S2V_NAME_ROOM])
{
    size_t n = 0;
    for (; *pattern && n + 12 < S2V_NAME_ROOM; pattern++) {
        if (*pattern == '#')
            n += (size_t)snprintf(out + n, S2V_NAME_ROOM - n, "%d", (int)layer);
        else
            out[n++] = *pattern == '?' ? letter : *pattern;
    }
    out[n] = '\0';
}

/* --- shapes ---------------------------------------------------------------------------------- */

static int64_t size_of(const s2v_numbers *n, s2v_dim d)
{
    const int64_t side = n->v_patch ? n->v_image / n->v_patch : 0;
    switch (d) {
    case EMBD:
        return n->n_embd;
    case FF:
        return n->n_ff;
    case KEYS:
        return (int64_t)n->head_dim * n->n_head_kv;
    case QUERIES:
        return (int64_t)n->head_dim * n->n_head;
    case GATED: /* a query and a gate */
        return 2 * (int64_t)n->head_dim * n->n_head;
    case HEAD:
        return n->head_dim;
    case SHARED_FF:
        return n->n_shared_ff;
    case D_ALL:
        return (int64_t)n->state_dim * (2 * n->n_key_heads + n->n_value_heads);
    case D_VALUES:
        return (int64_t)n->state_dim * n->n_value_heads;
    case D_HEADS:
        return n->n_value_heads;
    case D_HEAD:
        return n->state_dim;
    case D_TAPS:
        return n->n_taps;
    case VOCAB:
        return n->n_vocab;
    case EXPERTS:
        return n->n_experts;
    case EXPERT_FF:
        return n->n_expert_ff;
    case V_EMBD:
        return n->v_embd;
    case V_THREE:
        return 3 * (int64_t)n->v_embd;
    case V_FF:
        return n->v_ff;
    case V_FOUR:
        return 4 * (int64_t)n->v_embd;
    case V_PATCH:
        return n->v_patch;
    case V_PLACES:
        return side * side;
    case V_ROWS: /* with the class row */
        return side * side + 1;
    case V_TOKEN:
        return (int64_t)n->v_embd * n->v_merge * n->v_merge;
    case ONE:
        return 1;
    case TWO:
        return 2;
    case THREE:
        return 3;
    case END:
        break;
    }
    return 0;
}

static void shape_text(const int64_t *shape, size_t n, char *out, size_t room)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && at + 24 < room; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%" PRId64, i ? ", " : "", shape[i]);
}

static bool has_shape(const s2v_st_tensor *t, const int64_t *expected, size_t n)
{
    return (size_t)t->n_dims == n && memcmp(t->shape, expected, n * sizeof *expected) == 0;
}

static s2p_status expect_shape(const planner *p, const s2v_st_tensor *t, const int64_t *expected,
                               size_t n)
{
    if (!has_shape(t, expected, n)) {
        char found[64], wanted[64];
        shape_text(t->shape, (size_t)t->n_dims, found, sizeof found);
        shape_text(expected, n, wanted, sizeof wanted);
        return s2_fail(p->error, S2P_EFORMAT, "tensor '%.80s' is [%s], expected [%s]", t->name,
                       found, wanted);
    }
    if (t->type != S2V_ST_F32 && t->type != S2V_ST_F16 && t->type != S2V_ST_BF16)
        return s2_fail(p->error, S2P_EUNSUPPORTED,
                       "tensor '%.80s' is of type %s; F32, F16 and BF16 can be converted", t->name,
                       s2v_st_type_name(t->type, NULL));
    return S2P_OK;
}

static s2p_status check_shape(const planner *p, const s2v_map_row *r, const s2v_st_tensor *t)
{
    int64_t expected[S2V_MAP_MAX_DIMS];
    size_t n = 0;
    for (; n < S2V_MAP_MAX_DIMS && r->shape[n] != END; n++)
        expected[n] = size_of(p->numbers, (s2v_dim)r->shape[n]);
    return expect_shape(p, t, expected, n);
}

/* --- the plan -------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* llama.cpp's rules: vectors, routers, short convolutions and position embeddings stay F32, patch kernels
 * F16 or F32, Gemma's projection is F16, and rows that are no whole blocks become F16. */
static s2v_tensor_type choose_type(const planner *p, const s2v_planned *t)
{
    if (t->n_dims < 2 || strstr(t->name, ".ffn_gate_inp") || strstr(t->name, ".ssm_conv1d."))
        return S2V_TENSOR_F32;
    if (strstr(t->name, ".input_projection.")) return S2V_TENSOR_F16;
    if (strstr(t->name, ".patch_embd.weight"))
        return p->type == S2V_TENSOR_F16 && !p->family->has_f32_patches ? S2V_TENSOR_F16
                                                                        : S2V_TENSOR_F32;
    if (strstr(t->name, ".position_embd.") || !ends_with(t->name, ".weight")) return S2V_TENSOR_F32;
    return t->ne[0] % s2v_gguf_block(p->type) == 0 ? p->type : S2V_TENSOR_F16;
}

static s2p_status add_tensor(planner *p, s2v_planned *t)
{
    s2v_conversion_plan *plan = p->plan;
    if (plan->n_tensors == p->room) {
        const size_t room = p->room ? 2 * p->room : 256;
        s2v_planned *tensors = realloc(plan->tensors, room * sizeof *tensors);
        if (!tensors) return s2_fail_memory(p->error, room * sizeof *tensors, "a list of tensors");
        plan->tensors = tensors;
        p->room = room;
    }
    t->type = choose_type(p, t);
    plan->tensors[plan->n_tensors++] = *t;
    return S2P_OK;
}

/* The whole tensor, its fastest dimension first. */
static void fill_whole(s2v_planned *t)
{
    t->n_dims = t->source->n_dims;
    for (int32_t d = 0; d < 4; d++) t->ne[d] = 1;
    for (int32_t d = 0; d < t->n_dims; d++) t->ne[d] = t->source->shape[t->n_dims - 1 - d];
    t->n_per_row = t->stride = t->ne[0];
    t->n_rows = t->ne[1] * t->ne[2] * t->ne[3];
}

static s2p_status add_thirds(planner *p, const s2v_map_row *r, int32_t layer, s2v_planned *t)
{
    const int32_t slowest = t->source->n_dims - 1;
    fill_whole(t);
    t->ne[slowest] /= 3;
    if (slowest == 0)
        t->n_per_row = t->stride = t->ne[0];
    else
        t->n_rows /= 3;
    static const char letters[] = "qkv";
    for (int i = 0; i < 3; i++) {
        make_name(r->to, layer, letters[i], t->name);
        t->first = i * t->n_per_row * t->n_rows;
        TRY(add_tensor(p, t));
    }
    return S2P_OK;
}

/* [width, 3, 2, side, side]: the kernels of each moment, one square at a time. */
static s2p_status add_frames(planner *p, const s2v_map_row *r, s2v_planned *t)
{
    const int64_t *shape = t->source->shape;
    const int64_t square = shape[3] * shape[4];
    t->n_dims = 4;
    t->ne[0] = shape[4];
    t->ne[1] = shape[3];
    t->ne[2] = shape[1];
    t->ne[3] = shape[0];
    t->n_per_row = square;
    t->stride = 2 * square;
    t->n_rows = shape[0] * shape[1];
    make_name(r->to, -1, '?', t->name);
    TRY(add_tensor(p, t));
    const size_t n = strlen(t->name);
    (void)snprintf(t->name + n, sizeof t->name - n, ".1");
    t->first = square;
    return add_tensor(p, t);
}

/* Matrices of n_out rows of n_in values for all experts: part `half` of `n_halves` of the source, whose
 * matrices are n_in x (n_halves * n_out) or, as newer checkpoints may have them, the other way round. */
static s2p_status add_all_experts(planner *p, const char *name, int64_t n_out, int64_t n_in,
                                  int64_t half, int64_t n_halves, s2v_planned *t)
{
    const int64_t n = p->numbers->n_experts, wide = n_halves * n_out;
    const int64_t turned[3] = { n, n_in, wide }, straight[3] = { n, wide, n_in };
    t->is_turned = n_in == wide ? p->are_turned : !has_shape(t->source, straight, 3);
    TRY(expect_shape(p, t->source, t->is_turned ? turned : straight, 3));
    t->n_dims = 3;
    t->ne[0] = t->n_per_row = n_in;
    t->ne[1] = t->group_rows = n_out;
    t->ne[2] = n;
    t->ne[3] = 1;
    t->n_rows = n_out * n;
    t->group_stride = wide * n_in;
    t->stride = t->is_turned ? wide : n_in;
    t->first = t->is_turned ? half * n_out : half * n_out * n_in;
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    return add_tensor(p, t);
}

static s2p_status add_experts(planner *p, const s2v_map_row *r, int32_t layer, s2v_planned *t)
{
    const int64_t ff = p->numbers->n_expert_ff, n = p->numbers->n_embd;
    char name[S2V_NAME_ROOM];
    if (r->action == EXPERT_DOWNS) {
        make_name(r->to, layer, '?', name);
        return add_all_experts(p, name, n, ff, 0, 1, t);
    }
    for (int64_t half = 0; half < 2; half++) {
        (void)snprintf(name, sizeof name, "blk.%d.ffn_%s_exps.weight", (int)layer,
                       half ? "up" : "gate");
        TRY(add_all_experts(p, name, ff, n, half, 2, t));
    }
    return S2P_OK;
}

/* The matrix of one expert: its tensor of the result is planned when the first of them is met. */
static s2p_status add_expert(planner *p, const s2v_map_row *r, place at, s2v_planned *t)
{
    const int32_t n_experts = p->numbers->n_experts;
    s2v_planned *whole = NULL;
    make_name(r->to, at.layer, '?', t->name);
    for (size_t i = p->plan->n_tensors; i > 0 && !whole; i--) /* mostly one of the last */
        if (strcmp(p->plan->tensors[i - 1].name, t->name) == 0) whole = &p->plan->tensors[i - 1];
    if (!whole) {
        fill_whole(t);
        t->n_dims = 3;
        t->group_rows = t->ne[1];
        t->ne[2] = n_experts;
        t->n_rows *= n_experts;
        t->expert = calloc((size_t)n_experts, sizeof *t->expert);
        if (!t->expert) return s2_fail_memory(p->error, sizeof *t->expert, "a list of experts");
        const s2p_status st = add_tensor(p, t);
        if (st != S2P_OK) {
            free(t->expert);
            return st;
        }
        whole = &p->plan->tensors[p->plan->n_tensors - 1];
    }
    if (at.expert >= n_experts)
        return s2_fail(p->error, S2P_EFORMAT,
                       "tensor '%.100s' belongs to expert %d, but the model has %d experts",
                       t->source->name, (int)at.expert, (int)n_experts);
    if (!whole->expert || whole->expert[at.expert].tensor)
        return s2_fail(p->error, S2P_EFORMAT, "tensor '%.100s' occurs twice", t->source->name);
    if (t->source->type != whole->source->type)
        return s2_fail(p->error, S2P_EUNSUPPORTED, "tensor '%.100s' is of type %s, '%.100s' of %s",
                       t->source->name, s2v_st_type_name(t->source->type, NULL),
                       whole->source->name, s2v_st_type_name(whole->source->type, NULL));
    whole->expert[at.expert] = (s2v_expert_source){ t->file, t->source };
    return S2P_OK;
}

/* Of a layer of the other kind, where only some attend. */
static bool is_elsewhere(const s2v_numbers *n, const s2v_map_row *r, int32_t layer)
{
    if (n->attends_every == 0 || layer < 0) return false;
    const bool attends = (layer + 1) % n->attends_every == 0;
    return strstr(r->from, attends ? ".linear_attn." : ".self_attn.") != NULL;
}

/* Heads and values of delta nets. */
static void plan_changes(const planner *p, const s2v_map_row *r, s2v_planned *t)
{
    const s2v_numbers *n = p->numbers;
    const bool is_vector = t->n_dims == 1;
    t->is_rate = r->action == V_HEAD_RATES;
    if (r->action < V_HEAD_ROWS || r->action == IGNORE) return;
    t->n_groups = n->n_key_heads;
    t->per_group = n->n_value_heads / n->n_key_heads;
    if (r->action == V_HEAD_COLUMNS || is_vector)
        t->column_block = is_vector ? 1 : n->state_dim;
    else
        t->row_block = r->action == V_HEAD_LINES ? 1 : n->state_dim;
    if (r->action == V_HEAD_ROWS && r->shape[0] == D_ALL) t->first_block = 2 * n->n_key_heads;
    if (t->n_dims == 3 && t->ne[1] == 1) { /* the convolution's */
        t->n_dims = 2;
        t->ne[1] = t->ne[2];
        t->ne[2] = 1;
    }
}

static s2p_status plan_tensor(planner *p, const s2v_safetensors *file, const s2v_st_tensor *source)
{
    char name[S2V_ST_MAX_NAME + 16];
    place at = { -1, -1 };
    const s2v_map_row *r = NULL;
    bool is_vision = false;
    if (spell(p, source->name, name, sizeof name)) {
        r = find_row(p->family->text, name, &at);
        is_vision = !r;
        if (!r) r = find_row(p->family->vision, name, &at);
    }
    const int32_t layer = at.layer;
    if (r && is_vision && layer >= p->numbers->v_layers &&
        layer < p->numbers->v_layers + p->numbers->v_unused) {
        p->plan->n_ignored++;
        return S2P_OK;
    }
    const int32_t n_layers = is_vision ? p->numbers->v_layers : p->numbers->n_layers;
    const bool is_stacked = r && r->action == STACKED;
    if (!r || layer >= (is_stacked ? p->numbers->n_deepstack : n_layers) ||
        (!is_vision && is_elsewhere(p->numbers, r, layer)))
        return s2_fail(p->error, S2P_EFORMAT, "tensor '%.100s' is unknown to %s with %d layers",
                       source->name, p->family->name, (int)n_layers);
    if (r->action == IGNORE) {
        p->plan->n_ignored++;
        return S2P_OK;
    }
    if (r->action == EXPERT) {
        TRY(check_shape(p, r, source));
        return add_expert(p, r, at, &(s2v_planned){ .file = file, .source = source });
    }
    const size_t number = (size_t)(r - (is_vision ? p->family->vision : p->family->text));
    uint8_t *seen =
        &p->seen[is_vision][number * (size_t)n_layers + (size_t)(layer < 0 ? 0 : layer)];
    if ((*seen)++)
        return s2_fail(p->error, S2P_EFORMAT, "tensor '%.100s' occurs twice", source->name);

    const bool is_experts = r->action == EXPERT_GATES || r->action == EXPERT_DOWNS;
    if (!is_experts) TRY(check_shape(p, r, source));
    s2v_planned t = { .is_vision = is_vision, .file = file, .source = source };
    if (is_experts) return add_experts(p, r, layer, &t);
    if (r->action == THIRDS) return add_thirds(p, r, layer, &t);
    if (r->action == FRAMES) return add_frames(p, r, &t);
    fill_whole(&t);
    if (r->action == PLUS_ONE) t.added = 1.0f;
    if (r->action == PAIRS) t.head_rows = p->numbers->head_dim;
    plan_changes(p, r, &t);
    make_name(r->to, is_stacked ? p->numbers->deepstack[layer] : layer, '?', t.name);
    return add_tensor(p, &t);
}

static s2p_status check_complete(const planner *p, const s2v_map_row *rows, const uint8_t *seen,
                                 int32_t n_layers)
{
    for (size_t i = 0; rows[i].from; i++) {
        const bool is_head = strcmp(rows[i].from, "lm_head.weight") == 0;
        if (rows[i].is_optional || (is_head && p->numbers->may_be_tied)) continue;
        int32_t n = strchr(rows[i].from, '#') ? n_layers : 1;
        if (rows[i].action == STACKED) n = p->numbers->n_deepstack;
        for (int32_t layer = 0; layer < n; layer++) {
            if (seen[i * (size_t)n_layers + (size_t)layer] ||
                is_elsewhere(p->numbers, &rows[i], layer))
                continue;
            char name[S2V_NAME_ROOM];
            make_name(rows[i].to, layer, 'q', name);
            return s2_fail(
                p->error, S2P_EFORMAT, "the checkpoint has no tensor for '%s' (%s, layer %d of %d)",
                name, rows[i].from + (rows[i].from[1] == '.' ? 2 : 0), (int)layer, (int)n_layers);
        }
    }
    return S2P_OK;
}

/* Every layer has the three tensors of its experts once, with every expert in them. */
static s2p_status check_experts(const planner *p)
{
    static const char *const parts[] = { "gate", "up", "down" };
    const s2v_conversion_plan *plan = p->plan;
    for (int32_t i = 0; i < 3 * p->numbers->n_layers && p->numbers->n_experts > 0; i++) {
        const s2v_planned *found = NULL;
        char name[S2V_NAME_ROOM];
        (void)snprintf(name, sizeof name, "blk.%d.ffn_%s_exps.weight", (int)(i / 3), parts[i % 3]);
        for (size_t k = 0; k < plan->n_tensors; k++) {
            if (strcmp(plan->tensors[k].name, name) != 0) continue;
            if (found)
                return s2_fail(p->error, S2P_EFORMAT,
                               "the checkpoint has the experts of '%s' both in one tensor and in "
                               "separate tensors",
                               name);
            found = &plan->tensors[k];
        }
        if (!found)
            return s2_fail(p->error, S2P_EFORMAT, "the checkpoint has no tensor for '%s'", name);
        for (int32_t e = 0; found->expert && e < p->numbers->n_experts; e++)
            if (!found->expert[e].tensor)
                return s2_fail(p->error, S2P_EFORMAT, "the checkpoint has no expert %d for '%s'",
                               (int)e, name);
    }
    return S2P_OK;
}

/* A square matrix does not tell its order, but gates and downs are never both square. */
static bool find_order(const planner *p, const s2v_checkpoint *checkpoint)
{
    const int64_t n = p->numbers->n_experts, ff = p->numbers->n_expert_ff;
    const int64_t embd = p->numbers->n_embd;
    const int64_t gates[3] = { n, 2 * ff, embd }, downs[3] = { n, embd, ff };
    for (size_t f = 0; n > 0 && f < checkpoint->n_files; f++) {
        const s2v_st_tensor *t;
        for (size_t i = 0; (t = s2v_safetensors_at(checkpoint->files[f], i)); i++) {
            char name[S2V_ST_MAX_NAME + 16];
            place at;
            const s2v_map_row *r =
                spell(p, t->name, name, sizeof name) ? find_row(p->family->text, name, &at) : NULL;
            if (!r || (r->action != EXPERT_GATES && r->action != EXPERT_DOWNS)) continue;
            const int64_t *straight = r->action == EXPERT_GATES ? gates : downs;
            if (straight[1] != straight[2]) return !has_shape(t, straight, 3);
        }
    }
    return true;
}

static s2p_status plan_all(planner *p, const s2v_checkpoint *checkpoint)
{
    const s2v_numbers *n = p->numbers;
    p->are_turned = find_order(p, checkpoint);
    const size_t n_text = count_rows(p->family->text), n_vision = count_rows(p->family->vision);
    p->seen[0] = calloc(n_text, (size_t)n->n_layers);
    p->seen[1] = calloc(n_vision, (size_t)n->v_layers);
    if (!p->seen[0] || !p->seen[1])
        return s2_fail_memory(p->error, (n_text + n_vision) * 512, "a list of tensors");
    for (size_t f = 0; f < checkpoint->n_files; f++) {
        const s2v_st_tensor *t;
        for (size_t i = 0; (t = s2v_safetensors_at(checkpoint->files[f], i)); i++)
            TRY(plan_tensor(p, checkpoint->files[f], t));
    }
    TRY(check_complete(p, p->family->text, p->seen[0], n->n_layers));
    TRY(check_experts(p));
    return check_complete(p, p->family->vision, p->seen[1], n->v_layers);
}

s2p_status s2v_conversion_plan_make(s2v_conversion_plan *out, const s2v_checkpoint *checkpoint,
                                    const s2v_numbers *numbers, s2v_tensor_type type,
                                    s2p_error *error)
{
    *out = (s2v_conversion_plan){ 0 };
    planner p = {
        .numbers = numbers, .family = numbers->family, .type = type, .plan = out, .error = error
    };
    const s2p_status st = plan_all(&p, checkpoint);
    free(p.seen[0]);
    free(p.seen[1]);
    if (st != S2P_OK) s2v_conversion_plan_free(out);
    return st;
}

void s2v_conversion_plan_free(s2v_conversion_plan *plan)
{
    for (size_t i = 0; i < plan->n_tensors; i++) free(plan->tensors[i].expert);
    free(plan->tensors);
    *plan = (s2v_conversion_plan){ 0 };
}
