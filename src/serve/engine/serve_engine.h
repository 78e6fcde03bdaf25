/* serve_engine.h - the process that holds the model. It talks to the front and to nobody else. */
#ifndef S2_SERVE_ENGINE_H
#define S2_SERVE_ENGINE_H

#include "serve/engine/engine_setup.h"

/* Load the model, say hello, serve. Returns only when that cannot be. */
s2p_status s2_serve_engine(s2_engine_setup *setup, s2p_error *error);

#endif /* S2_SERVE_ENGINE_H */
