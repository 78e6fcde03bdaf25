"""The training-only terms and the optimiser. Nothing here is exported."""
import torch
import torch.nn.functional as F

import tiny_model as M
from labels import CHARACTERS, N_CHARACTERS, N_COLORS, N_ORDINALS, N_SHAPES
from scenes import COLOR_NAMES, SHAPES

HEADS = (N_COLORS, N_SHAPES, N_CHARACTERS, N_CHARACTERS, N_ORDINALS)
WIDTH = sum(HEADS)
GROUNDED_LAYER = 3


class DenseHeads(torch.nn.Module):
    """Linear read-outs: what each patch and each merged token shows, where a token stands after
    decoder layer 0 (`place`), which character has which ordinal in a merged token (`bound`)."""

    def __init__(self):
        super().__init__()
        hidden = M.TEXT["hidden_size"]
        self.patch = torch.nn.Linear(M.VISION["hidden_size"], WIDTH)
        self.merged = torch.nn.Linear(hidden, 4 * WIDTH)
        self.place = torch.nn.Linear(hidden, 2)
        self.bound = torch.nn.Linear(hidden, 5 * N_CHARACTERS)

    def forward(self, merged, patches, labels, n):
        """(loss, accuracies of colour, form, character, bound character, ordinal)."""
        b, m = patches.shape[0], n // 2
        by_window = labels.reshape(b, n * n, 6)[:, M.window_order(n)[0]].reshape(-1, 6)
        by_token = labels.reshape(b, m, 2, m, 2, 6).permute(0, 1, 3, 2, 4, 5).reshape(-1, 6)
        patches = F.rms_norm(patches, (patches.shape[-1],))
        merged = F.rms_norm(merged, (merged.shape[-1],))
        loss, accuracy = 0.0, []
        for read, wanted in ((self.patch(patches).reshape(-1, WIDTH), by_window),
                             (self.merged(merged).reshape(-1, WIDTH), by_token)):
            at, accuracy = 0, []
            for k, size in enumerate(HEADS):
                z = read[:, at:at + size]
                at += size
                weight = torch.ones(size)
                weight[0] = 0.12
                loss = loss + F.cross_entropy(z, wanted[:, k], weight=weight)
                some = wanted[:, k] > 0
                accuracy.append((z[some].argmax(-1) == wanted[some, k]).float().mean().item()
                                if some.any() else float("nan"))
        return (loss + self._bound_loss(merged, by_token, accuracy)) / 5, accuracy

    def _bound_loss(self, merged, by_token, accuracy):
        four = by_token.reshape(-1, 4, 6)
        wanted = torch.zeros(four.shape[0], N_ORDINALS, dtype=torch.long)
        wanted.scatter_(1, four[:, :, 4], four[:, :, 2])
        wanted.scatter_(1, four[:, :, 5], four[:, :, 3])
        wanted = wanted[:, 1:]
        z = self.bound(merged).reshape(-1, 5, N_CHARACTERS)
        some = wanted.sum(1) > 0
        if not some.any():
            return 0.0
        weight = torch.ones(N_CHARACTERS)
        weight[0] = 0.15
        there = wanted[some] > 0
        accuracy[3] = (z[some].argmax(-1)[there] == wanted[some][there]).float().mean().item()
        return 2 * F.cross_entropy(z[some].reshape(-1, N_CHARACTERS), wanted[some].reshape(-1),
                                   weight=weight)


class Alignment:
    """A merged token's logits against the tied vocabulary should name its colour, form and digits."""

    def __init__(self, tokenizer, vocabulary):
        def single(text):
            ids = tokenizer.encode(text).ids
            return ids[0] if len(ids) == 1 else vocabulary  # the last column is dropped
        self.vocabulary = vocabulary
        self.maps = []
        for names, column in ((COLOR_NAMES, 0), (SHAPES, 1)):
            for space in (" ", ""):
                self.maps.append((column, torch.tensor([vocabulary] + [single(space + x) for x in names])))
        digits = torch.tensor([vocabulary] + [single(c) if c.isdigit() else vocabulary for c in CHARACTERS])
        self.maps += [(2, digits), (3, digits)]

    def __call__(self, merged, labels, embedding, n):
        b, m = labels.shape[0], n // 2
        by_token = labels.reshape(b, m, 2, m, 2, 6).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 6)
        wanted = torch.zeros(by_token.shape[0], self.vocabulary + 1)
        for column, ids in self.maps:
            wanted.scatter_(1, ids[by_token[:, :, column]], 1.0)
        wanted = wanted[:, :self.vocabulary]
        n_names = wanted.sum(1)
        some = n_names > 0
        rows = merged.reshape(-1, merged.shape[-1])[some]
        log_p = F.log_softmax(F.linear(F.rms_norm(rows, (rows.shape[-1],)), embedding), -1)
        return -(log_p * wanted[some] / n_names[some, None]).sum(1).mean()


def grounding_loss(layer, h, cos_sin, mask, grounding):
    """(loss, attention on the right tokens): in this layer the position that predicts an answer
    token looks at what is asked about (heads 0-1) and at the second thing (heads 2-3)."""
    row, first, second = grounding
    b, n_rows = row.shape
    n = h.shape[1]
    x = M.rms(h, layer.input_layernorm)

    def rows_of(t):
        return t.gather(1, row[..., None].expand(-1, -1, t.shape[-1]))
    q = layer.self_attn.q_proj(rows_of(x)).view(b, n_rows, -1, M.HEAD_DIM).transpose(1, 2)
    k = layer.self_attn.k_proj(x).view(b, n, -1, M.HEAD_DIM).transpose(1, 2)
    cos, sin = cos_sin
    k = k * cos + M.rotate_half(k) * sin
    q = q * rows_of(cos[:, 0])[:, None] + M.rotate_half(q) * rows_of(sin[:, 0])[:, None]
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    visible = mask[:, 0].gather(1, row[..., None].expand(-1, -1, n))[:, None]
    weight = torch.softmax(q @ k.transpose(-1, -2) * M.HEAD_DIM ** -0.5 + visible, -1)
    on_first = (weight[:, :2] * first[:, None]).sum(-1)
    on_second = (weight[:, 2:] * second[:, None]).sum(-1)
    has_first, has_second = first.sum(-1) > 0, second.sum(-1) > 0
    loss = -torch.log(on_first + 1e-5).mean(1)[has_first].mean()
    if has_second.any():
        loss = loss - torch.log(on_second + 1e-5).mean(1)[has_second].mean() * 0.3
    return loss, on_first.mean(1)[has_first].mean().item()


def orthogonalise(gradient):
    """Newton-Schulz, five steps: the nearest semi-orthogonal matrix, roughly."""
    x = gradient / (gradient.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    is_tall = gradient.shape[-2] > gradient.shape[-1]
    if is_tall:
        x = x.transpose(-1, -2)
    for _ in range(5):
        a = x @ x.transpose(-1, -2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.transpose(-1, -2) if is_tall else x


class Optimiser:
    """Muon for the matrices of the model, Adam for embeddings, norms, biases and training heads; all
    state in shared memory, for several processes."""

    def __init__(self, named):
        self.matrices, self.rest = {}, []
        for name, p in named:
            if p.ndim >= 2 and "embed_tokens" not in name and not name.startswith("heads."):
                self.matrices.setdefault((p.shape[0], p[0].numel()), []).append(p)
            else:
                self.rest.append(p)
        self.momentum = {s: torch.zeros(len(ps), *s).share_memory_() for s, ps in self.matrices.items()}
        self.first = [torch.zeros_like(p).share_memory_() for p in self.rest]
        self.second = [torch.zeros_like(p).share_memory_() for p in self.rest]
        self.steps = torch.zeros(1, dtype=torch.long).share_memory_()

    @torch.no_grad()
    def step(self, rate, decay=0.02):
        """One update from the gradients at hand."""
        self.steps += 1
        t = min(int(self.steps), 10000)
        for shape, group in self.matrices.items():
            live = [p.grad is not None for p in group]
            if not any(live):
                continue
            g = torch.stack([(p.grad if p.grad is not None else torch.zeros_like(p)).reshape(shape)
                             for p in group])
            momentum = self.momentum[shape]
            momentum.mul_(0.95).add_(g, alpha=0.05)
            update = orthogonalise(g * 0.05 + momentum * 0.95) * (0.2 * max(shape) ** 0.5)
            for i, p in enumerate(group):
                if live[i]:
                    p.mul_(1 - rate * decay).add_(update[i].view_as(p), alpha=-rate)
        for p, m, v in zip(self.rest, self.first, self.second):
            if p.grad is None:
                continue
            m.mul_(0.9).add_(p.grad, alpha=0.1)
            v.mul_(0.98).addcmul_(p.grad, p.grad, value=0.02)
            scale = (v / (1 - 0.98 ** t)).sqrt_().add_(1e-8)
            p.addcdiv_(m, scale, value=-rate / (1 - 0.9 ** t))

    def state(self):
        """For a checkpoint."""
        return dict(momentum=self.momentum, first=self.first, second=self.second, steps=self.steps)

    def load(self, state):
        """From a checkpoint, in place."""
        for shape, tensor in self.momentum.items():
            tensor.copy_(state["momentum"][shape])
        for mine, theirs in zip(self.first + self.second, state["first"] + state["second"]):
            mine.copy_(theirs)
        self.steps.copy_(state["steps"])
