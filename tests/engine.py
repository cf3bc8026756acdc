"""A real inference engine for tests: llama.cpp with a model of half a megabyte, written here with random weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import ascii_lowercase

import gguf
import numpy
import xllamacpp  # type: ignore[import-untyped]

Floats = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float32]]
WIDTH, LAYERS, HEADS, FEED_FORWARD, CONTEXT = 64, 2, 4, 256, 32_768
END = 2
TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def write_model(path: Path, seed: int = 1) -> Path:
    """A llama with a vocabulary of bytes, that says lower-case letters without a sense and seldom comes to an end."""
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer)
    tokens = _vocabulary(writer)
    _weights(writer, tokens, numpy.random.default_rng(seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@contextmanager
def serve_model(model: Path) -> Iterator[str]:
    """Serves the model over HTTP on loopback, with the APIs of OpenAI (below /v1) and Anthropic; gives the address."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 2
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.verbosity = -1
    params.endpoint_metrics = True
    server = xllamacpp.Server(params)
    server.handle_metrics()  # it runs when it answers
    yield server.listening_address
    del server


def _describe(writer: gguf.GGUFWriter) -> None:
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_chat_template(TEMPLATE)


def _vocabulary(writer: gguf.GGUFWriter) -> list[str]:
    special = ["<unk>", "<s>", "</s>"]
    letters = ["▁", "\n", ".", *ascii_lowercase]
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *letters]
    kind = gguf.TokenType
    kinds = [kind.UNKNOWN, kind.CONTROL, kind.CONTROL, *[kind.BYTE] * 256, *[kind.NORMAL] * len(letters)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(END)
    writer.add_unk_token_id(0)
    return tokens


def _weights(writer: gguf.GGUFWriter, tokens: list[str], random: numpy.random.Generator) -> None:
    def matrix(rows: int, columns: int, scale: float = 1.0) -> Floats:
        values = random.standard_normal((rows, columns), dtype=numpy.float32)
        return values * numpy.float32(scale / columns**0.5)

    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    output = matrix(len(tokens), WIDTH, 8.0)
    output[[number for number, token in enumerate(tokens) if len(token) > 1 and number != END]] = 0.0
    writer.add_tensor("token_embd.weight", matrix(len(tokens), WIDTH, 8.0))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", ones)
        writer.add_tensor(f"blk.{layer}.ffn_norm.weight", ones)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", matrix(WIDTH, WIDTH))
        for name in ("ffn_gate", "ffn_up"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", matrix(FEED_FORWARD, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", matrix(WIDTH, FEED_FORWARD))
