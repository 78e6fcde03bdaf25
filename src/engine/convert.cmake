# Checkpoints to GGUF, GGUF to smaller GGUF.
find_package(Threads REQUIRED)
target_sources(s2_engine PRIVATE json_limit.c safetensors.c checkpoint.c gguf_write.c recode.c
  convert.c convert_config.c convert_keys.c convert_map.c convert_tables.c convert_vocab.c quantize.c quantize_choice.c)
target_link_libraries(s2_engine PRIVATE Threads::Threads)
