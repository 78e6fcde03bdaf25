/* search.h - the cheapest setting whose loss is small enough, so that the statement as a whole can be trusted.
 *
 * The question of a candidate is whether its mean loss against all tokens is below `max_loss`. Each picture
 * with its questions is one bet against "it is not" (base/evidence.h), so it may be looked at after every
 * picture. Several candidates are several chances to be wrong. They stand in chains, from the expensive to
 * the cheap: a candidate is only tested when the one before it in its chain has been accepted, and then
 * costs nothing (fixed-sequence testing). The chains share the error 1 - confidence between them; what a
 * chain has left when its last candidate is accepted goes to the others (the graphical procedure of Bretz
 * and others, 2009). So the chance that any accepted candidate loses more than max_loss is at most
 * 1 - confidence, however many there are, whenever the search ends, and whichever of them is taken.
 *
 * The order of a chain and the pictures' order are fixed before any answer is looked at.
 */
#ifndef S2_EVAL_TUNE_SEARCH_H
#define S2_EVAL_TUNE_SEARCH_H

#include "base/evidence.h"
#include "eval/tune/outcomes.h"

#define S2E_MAX_CANDIDATES 512
#define S2E_MAX_CHAINS 64
#define S2E_REFUSED_AT 0.05 /* a candidate that clearly loses more ends its chain */

typedef enum s2e_verdict_of_search {
    S2E_WAITING,  /* the one before it is not accepted */
    S2E_ACCEPTED, /* loses less than max_loss */
    S2E_TOO_MUCH, /* clearly loses more */
    S2E_UNPROVEN  /* the pictures there are cannot show it */
} s2e_verdict_of_search;

typedef struct s2e_candidate {
    s2e_plan_of_budgets plan;
    int32_t chain;
    s2e_verdict_of_search verdict;
    s2_evidence less, more; /* that it loses less, that it loses more than max_loss */
    int32_t n_seen;         /* groups it was judged by */
    /* measured on all groups that were asked, s2e_search_measure */
    int32_t n_questions, n_groups, n_again;
    double loss, tokens, all_tokens, share; /* means; share: of the cost of all tokens */
} s2e_candidate;

typedef struct s2e_search {
    double max_loss, confidence;
    bool by_question;         /* each question is a bet of its own, not each picture */
    s2e_candidate *candidate; /* [n] chain by chain, from expensive to cheap; owned */
    int32_t n, n_chains;
    int32_t *order;               /* [n_groups] in which pictures are looked at; owned */
    int32_t n_groups;             /* of them at most, of the outcomes' */
    double level[S2E_MAX_CHAINS]; /* the error a chain may make */
    int32_t next[S2E_MAX_CHAINS]; /* its candidate at hand; -1: nothing left to do */
} s2e_search;

/* Chains of these settings and their columns (0 is what all are compared with): for each method and size its
 * budgets from the largest to the smallest; the same growing to all tokens, at each of n_thresholds, where
 * the method prunes; and, together, sizes with all tokens. n_groups: of pictures to be looked at; 0: all.
 * out: max_loss, confidence and by_question are set. S2P_EINVAL: nothing to search. S2P_ELIMIT. */
s2p_status s2e_search_start(s2e_search *out, const s2e_outcomes *outcomes,
                            const s2a_setting *setting, const double *threshold,
                            int32_t n_thresholds, uint64_t seed, int32_t n_groups,
                            s2p_error *error);
void s2e_search_free(s2e_search *search);

/* Look at the first n_ready groups of the order; what is decided stays so. is_end: there will be no more. */
void s2e_search_advance(s2e_search *search, const s2e_outcomes *o, int32_t n_ready, bool is_end);

/* Whether something is left to be decided; whether that needs answers of a column. */
bool s2e_search_goes_on(const s2e_search *search);
bool s2e_search_needs(const s2e_search *search, int32_t column);

/* Means of every candidate over the first n_ready groups that have its answers. */
void s2e_search_measure(s2e_search *search, const s2e_outcomes *o, int32_t n_ready);

/* The cheapest accepted one, once measured; NULL: none. */
const s2e_candidate *s2e_search_best(const s2e_search *search);

#endif /* S2_EVAL_TUNE_SEARCH_H */
