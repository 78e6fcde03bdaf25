/* paper_sections.h - the report: the paper's tables and figures in its order. */
#ifndef S2_TOOLS_PAPER_SECTIONS_H
#define S2_TOOLS_PAPER_SECTIONS_H

#include "analyze/analyze_command.h"
#include "paper/paper_runs.h"

typedef struct s2_paper_work {
    analyze_context *context;
    analyze_options *options;  /* the context's, to be narrowed section by section */
    const s2_paper_runs *runs; /* NULL: the model is asked */
    s2_study *study;
    s2_buffer *settings; /* what the report says about how it was made */
} s2_paper_work;

/* Every section is filled from the runs or by asking the model; what neither has stays blank, with the
 * reason and the command that would fill it. Answers are shared: what one section asked, another does
 * not ask again. */
s2p_status s2_paper_fill(const s2_paper_work *work, s2p_error *error);

#endif /* S2_TOOLS_PAPER_SECTIONS_H */
