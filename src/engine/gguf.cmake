target_sources(s2_engine PRIVATE gguf.c gguf_parse.c gguf_names.c gguf_types.c)
