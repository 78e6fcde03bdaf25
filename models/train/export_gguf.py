"""A folder of export_hf.py -> the GGUF pair, by llama.cpp's own conversion classes.

    python3 export_gguf.py LLAMA_CPP HF OUT

LLAMA_CPP is a checkout of llama.cpp with its conversion/ package. Two things are
stated: the pre-tokenizer is `qwen2`, because the hash of a tiny vocabulary is in no list, and the
limits of pictures stand in the vision file, because the model knows no larger ones.
"""
import os
import sys

NAME, TITLE, TYPE = "s2prune-tiny", "Tiny Qwen2.5-VL", "f16"


def with_limits(set_parameters):
    """The keys llama.cpp knows for them; its class for this model does not write them."""
    def wrapped(self):
        set_parameters(self)
        self.gguf_writer.add_vision_min_pixels(self.preprocessor_config["min_pixels"])
        self.gguf_writer.add_vision_max_pixels(self.preprocessor_config["max_pixels"])
    return wrapped


def main(llama_cpp, folder, out):
    """The command above."""
    sys.path[:0] = [llama_cpp, os.path.join(llama_cpp, "gguf-py")]
    import conversion.base
    import conversion.qwenvl
    import convert_hf_to_gguf
    conversion.base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "qwen2"
    conversion.qwenvl.Qwen2VLModel.set_vocab = lambda self: self._set_vocab_gpt2()
    vision = conversion.qwenvl.Qwen2VLVisionModel
    vision.set_gguf_parameters = with_limits(vision.set_gguf_parameters)
    os.makedirs(out, exist_ok=True)
    for flags, prefix in (([], ""), (["--mmproj"], "mmproj-")):
        sys.argv = ["convert", folder, *flags, "--outtype", TYPE, "--model-name", TITLE, "--outfile",
                    os.path.join(out, f"{prefix}{NAME}-{TYPE}.gguf")]
        convert_hf_to_gguf.main()


if __name__ == "__main__":
    main(*sys.argv[1:4])
