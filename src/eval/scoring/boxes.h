/* boxes.h - boxes in answers: where a referring expression is said to point. */
#ifndef S2_EVAL_SCORING_BOXES_H
#define S2_EVAL_SCORING_BOXES_H

#include "eval/scoring/str.h"

typedef struct s2e_box { /* two corners, in pixels of the picture of the data */
    double x1, y1, x2, y2;
} s2e_box;

typedef struct s2e_frame {
    double width, height; /* of the picture of the data */
    double seen_width,
        seen_height; /* of what the model saw of it; 0: not known, taken as the same */
} s2e_frame;

typedef enum s2e_box_rule {
    /* B1: (x1,y1),(x2,y2) or four numbers in brackets, whichever comes first. The former are
     * thousandths: 999 is the far edge for Qwen-VL, 1000 behind Qwen2-VL's <|box_start|>. The latter are
     * fractions when none is above 1, else pixels of what the model saw. */
    S2E_BOX_OFFICIAL,
    /* B2, VLMEvalKit: four numbers in square brackets, else the first four anywhere: fractions up to 1.5,
     * thousandths up to 1000, else pixels; moved into the picture, corners put in order. */
    S2E_BOX_KIT,
    /* B3, lmms-eval: fractions in square brackets with commas. */
    S2E_BOX_LMMS
} s2e_box_rule;

/* What an overlap is computed in: it decides about boxes that overlap by exactly one half. */
typedef enum s2e_box_arithmetic {
    S2E_BOX_PIXELS,    /* double precision, pixels of the picture of the data */
    S2E_BOX_FRACTIONS, /* double precision, fractions of the picture: lmms-eval */
    S2E_BOX_SINGLE     /* single precision, pixels from 999ths: Qwen-VL's script */
} s2e_box_arithmetic;

typedef struct s2e_box_reading {
    bool is_there;
    s2e_box box;
    size_t at, n;     /* where in the answer, code points */
    double number[4]; /* as they stand there */
    s2e_box_arithmetic arithmetic;
} s2e_box_reading;

s2e_box_reading s2e_read_box(s2e_scratch *scratch, s2e_box_rule rule, s2e_str answer,
                             const s2e_frame *frame);

/* B2's four numbers, whatever they are measured in; false: there are none. */
bool s2e_box_numbers(s2e_scratch *scratch, s2e_str text, double out[4]);

/* Intersection over union, 0 for a box without an inside. */
double s2e_iou(const s2e_box *a, const s2e_box *b);

/* The same of a box that was read and the one of the data, in the arithmetic of the rule's script. */
double s2e_overlap(const s2e_box_reading *reading, const s2e_box *gold, const s2e_frame *frame);

#endif /* S2_EVAL_SCORING_BOXES_H */
