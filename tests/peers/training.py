# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""`hiaton train` next to the same training in NumPy: from the same weights, on the same trees in the same order.

    training.py HIATON SOURCE-DIR SHARE [TITLE...]    all checks, or those whose titles begin like one of these

Each check is of 20 steps, and compares the losses to 1e-5 and the params at the end. One in SHARE is made. The models
are those of models.py, differentiated by autodiff.py, all in f64; optimizers, order and rates are written here from
docs/training.md and include/hiaton/training.h. Where PyTorch is installed, the same is computed a third time by its
modules, its gradients and its optimizers. With HIATON_SST_DIR (train.txt) there are checks on real trees, too."""
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # products are small, and NumPy reads it when it is imported

import numpy as np

import autodiff
import files
import models

try:
    import torch
except ImportError:
    torch = None

TOLERANCE = 1e-5         # of each loss
PARAMS_TOLERANCE = 1e-3  # of what a param has changed by
STEPS = 20
WORDS = 200  # in place of the const WORDS of the programs: params are written after each epoch
MODELS = {'tree_rnn': models.TreeRnn, 'rntn': models.Rntn, 'tree_lstm': models.TreeLstm}

passed = failed = 0


def verdict(what, problem):
    global passed, failed
    if problem:
        failed += 1
        print('FAILED: %s\n%s' % (what, problem[:2000]))
    else:
        passed += 1


class Options:
    """Those of `hiaton train`."""

    def __init__(self, optimizer, lr, momentum=0.0, decay=0.0, clip=0.0, schedule='constant', warmup=0):
        self.optimizer, self.lr, self.momentum, self.decay, self.clip = optimizer, lr, momentum, decay, clip
        self.schedule, self.warmup = schedule, warmup
        self.beta1, self.beta2, self.epsilon = 0.9, 0.999, 1e-8

    def words(self):
        words = []
        for name in ('optimizer', 'lr', 'momentum', 'decay', 'clip', 'schedule', 'warmup'):
            value = getattr(self, name)
            if value:
                words += ['--' + name, str(value)]
        return words

    def rate(self, step):
        if step < self.warmup:
            return self.lr * (step + 1) / self.warmup
        done = (step - self.warmup) / (STEPS - self.warmup)
        return self.lr * {'constant': 1, 'linear': 1 - done, 'cosine': (1 + np.cos(np.pi * done)) / 2}[self.schedule]


def order_of(seed, epoch, n):
    """The shuffle of Fisher and Yates, with the numbers of SplitMix64."""
    golden, mask = 0x9e3779b97f4a7c15, 2**64 - 1

    def mix(x):
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & mask
        x = (x ^ x >> 27) * 0x94d049bb133111eb & mask
        return x ^ x >> 31

    at, order = mix(mix(seed + golden & mask) + epoch * golden & mask), list(range(n))
    for i in range(n - 1, 0, -1):
        at = at + golden & mask
        k = mix(at) % (i + 1)
        order[i], order[k] = order[k], order[i]
    return order


# ---- in NumPy ----


class Rows(dict):
    """The rows of a matrix that are read, each a Value."""

    def __init__(self, matrix):
        super().__init__()
        self.matrix = matrix

    def __missing__(self, row):
        self[row] = autodiff.Value(self.matrix[row])
        return self[row]


class InNumPy:
    def __init__(self, model, weights, options):
        self.model, self.o, self.t = model, options, 0
        self.w = {name: x.astype(np.float64) for name, x in weights.items()}
        self.first, self.second = ({name: np.zeros(x.shape) for name, x in weights.items()} for _ in range(2))

    def step(self, trees, rate):
        """Returns the loss before the step."""
        model = self.model({})
        model.w = {name: Rows(x) if name == 'E' else autodiff.Value(x) for name, x in self.w.items()}
        loss = sum(model.run(t)[1] for t in trees)
        autodiff.backward(loss)
        gradients = {}  # which rows (of E), or all, and their gradients
        for name, value in model.w.items():
            if name == 'E':
                gradients[name] = list(value), np.array([row.gradient() for row in value.values()])
            else:
                gradients[name] = ..., value.gradient()
        norm = sum((g * g).sum() for _, g in gradients.values()) ** 0.5
        self.t += 1
        for name, (at, g) in gradients.items():
            self.update(name, at, g * (self.o.clip / norm) if 0 < self.o.clip < norm else g, rate)
        return float(loss.x)

    def update(self, name, at, g, rate):
        o, w, first, second = self.o, self.w[name], self.first[name], self.second[name]
        if o.optimizer == 'adamw':
            w[at] -= rate * o.decay * w[at]
        else:
            g = g + o.decay * w[at]
        if o.optimizer == 'sgd':
            first[at] = o.momentum * first[at] + g
            w[at] -= rate * first[at]
        elif o.optimizer == 'adagrad':
            first[at] += g * g
            w[at] -= rate * g / (np.sqrt(first[at]) + o.epsilon)
        else:
            first[at] = o.beta1 * first[at] + (1 - o.beta1) * g
            second[at] = o.beta2 * second[at] + (1 - o.beta2) * g * g
            mean, variance = first[at] / (1 - o.beta1 ** self.t), second[at] / (1 - o.beta2 ** self.t)
            w[at] -= rate * mean / (np.sqrt(variance) + o.epsilon)

    def params(self):
        return self.w


# ---- in PyTorch ----


class InTorch:
    """Its optimizers change all rows of E. So E has only the rows that all steps read; or, if steps read different
    ones, the optimizer must be one for which a gradient of zeros means no change."""

    def __init__(self, model, weights, options, trees):
        self.cell, self.o = {models.TreeRnn: self.rnn, models.Rntn: self.rntn, models.TreeLstm: self.lstm}[model], options
        self.whole = weights['E'].astype(np.float64)
        self.rows = sorted({word for t in trees for word in words_in(t)})
        self.places = {word: i for i, word in enumerate(self.rows)}
        short = {**weights, 'E': weights['E'][self.rows]}
        self.w = {name: torch.tensor(x, dtype=torch.float64, requires_grad=True) for name, x in short.items()}
        make = {'sgd': lambda w: torch.optim.SGD(w, options.lr, momentum=options.momentum, weight_decay=options.decay),
                'adagrad': lambda w: torch.optim.Adagrad(w, options.lr, weight_decay=options.decay, eps=options.epsilon),
                'adam': lambda w: torch.optim.Adam(w, options.lr, weight_decay=options.decay, eps=options.epsilon),
                'adamw': lambda w: torch.optim.AdamW(w, options.lr, weight_decay=options.decay, eps=options.epsilon)}
        self.optimizer = make[options.optimizer](list(self.w.values()))

    def rnn(self, children, row):
        w = self.w
        return (torch.tanh(w['W'] @ torch.cat([c[0] for c in children]) + w['b']),) if children else (row,)

    def rntn(self, children, row):
        w = self.w
        if not children:
            return (row,)
        x = torch.cat([c[0] for c in children])
        return (torch.tanh(torch.nn.functional.bilinear(x, x, w['V'], w['b']) + torch.mv(w['W'], x)),)

    def lstm(self, children, row):
        w, linear = self.w, torch.nn.functional.linear
        if children:
            i, o, f1, f2, u = linear(torch.cat([c[0] for c in children]), w['U'], w['bu']).chunk(5)
            c = i.sigmoid() * u.tanh() + f1.sigmoid() * children[0][1] + f2.sigmoid() * children[1][1]
        else:
            i, o, u = linear(row, w['Wx'], w['bx']).chunk(3)
            c = i.sigmoid() * u.tanh()
        return o.sigmoid() * c.tanh(), c

    def step(self, trees, rate):
        vectors, labels = [], []

        def visit(t):
            children = [visit(child) for child in t[1:]] if len(t) == 3 else []
            state = self.cell(children, None if children else self.w['E'][self.places[t[1]]])
            vectors.append(state[0])
            labels.append(t[0])
            return state

        for t in trees:
            visit(t)
        scores = torch.nn.functional.linear(torch.stack(vectors), self.w['Wc'], self.w['bc'])
        loss = torch.nn.functional.cross_entropy(scores, torch.tensor(labels), reduction='sum')
        self.optimizer.zero_grad()
        loss.backward()
        if self.o.clip:
            torch.nn.utils.clip_grad_norm_(self.w.values(), self.o.clip)
        for group in self.optimizer.param_groups:
            group['lr'] = rate
        self.optimizer.step()
        return loss.item()

    def params(self):
        params = {name: x.detach().numpy() for name, x in self.w.items()}
        whole = self.whole.copy()
        whole[self.rows] = params['E']
        return {**params, 'E': whole}


def words_in(t):
    return [t[1]] if len(t) == 2 else words_in(t[1]) + words_in(t[2])


# ---- the comparison ----


def program_of(name):
    with open(os.path.join(sources, 'examples', 'models', name + '.hia'), encoding='utf-8') as f:
        text, n = re.subn(r'^const WORDS = \d+', 'const WORDS = %d' % WORDS, f.read(), flags=re.M)
    assert n == 1
    path = os.path.join(work, name + '.hia')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def train(name, bank, weights, options, more):
    """The losses that `hiaton train` logs, and the params at the end."""
    start, log, end = (os.path.join(work, file) for file in ('start.safetensors', 'log.jsonl', 'end.safetensors'))
    for path in (log, end, end + '.checkpoint'):
        if os.path.exists(path):
            os.remove(path)
    files.write_safetensors(start, weights)
    command = [program, 'train', program_of(name), '--data', bank.file, '--vocab', bank.vocabulary, '--params', start,
               '--save', end, '--log', log] + options.words() + more
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return '%s\n%s' % (' '.join(command), result.stderr), None
    with open(log, encoding='utf-8') as f:
        return [json.loads(line)['loss'] for line in f], files.read_safetensors(end)


def follow(peer, trees, options, size, per_example):
    """The losses of the epochs of a peer, batches having `size` trees."""
    losses, step, epoch, seed = [], 0, 1, 3
    while step < STEPS:
        order, total = order_of(seed, epoch, len(trees)), 0.0
        for at in range(0, len(trees), size):
            batch = [trees[i] for i in order[at:at + size]]
            loss = peer.step(batch, options.rate(step))
            total += loss if per_example else loss * len(batch)
            step += 1
        losses.append(total / len(trees))
        epoch += 1
    return losses, peer.params()


def compare(got, expected, weights):
    """What is wrong with losses and params."""
    (losses, params), (wanted, wanted_params) = got, expected
    if len(losses) != len(wanted):
        return '%d losses, not %d' % (len(losses), len(wanted))
    for i, (loss, right) in enumerate(zip(losses, wanted)):
        if not abs(loss - right) <= TOLERANCE * abs(right):
            return 'epoch %d: loss %r, not %r' % (i + 1, loss, right)
    if not wanted[-1] < 0.98 * wanted[0]:
        return 'the loss falls from %r to %r only, which tests little' % (wanted[0], wanted[-1])
    for name, start in weights.items():
        x, y, start = (z.astype(np.float64) for z in (params[name], wanted_params[name], start))
        off, change = np.linalg.norm(x - y), np.linalg.norm(y - start)
        if not off <= PARAMS_TOLERANCE * change:
            return '%s: off by %g, and the change is %g' % (name, off, change)
    unread = (wanted_params['E'] == weights['E']).all(axis=1)
    if not unread.any() or not (params['E'] == weights['E'])[unread].all():
        return 'E: rows that no step read have changed'
    return None


def check(name, bank, title, options, size=None):
    """One batch for each epoch, so that each loss is that of a step; or batches of `size` trees, of which some are
    left for the last one."""
    what = '%s, %s, %s%s' % (name, bank.name, title, ', batches' if size else '')
    if sys.argv[4:] and not what.startswith(tuple(sys.argv[4:])):
        return
    weights = files.weights(MODELS[name].shapes(WORDS), 40)
    n = len(bank.trees)
    n_batches = -(-n // size) if size else 1
    assert STEPS % n_batches == 0
    more = ['--batch', str(size or n), '--epochs', str(STEPS // n_batches), '--seed', '3', '--threads', '1']
    got = train(name, bank, weights, options, more + (['--per-example'] if size else []))
    if got[1] is None:
        verdict(what, got[0])
        return
    peer = InNumPy(MODELS[name], weights, options)
    verdict(what, compare(got, follow(peer, bank.trees, options, size or n, bool(size)), weights))
    leaves_rows = options.optimizer in ('sgd', 'adagrad') and not options.momentum and not options.decay
    if torch and (not size or leaves_rows):
        peer = InTorch(MODELS[name], weights, options, bank.trees)
        verdict(what + ', PyTorch', compare(got, follow(peer, bank.trees, options, size or n, bool(size)), weights))


class Treebank:
    def __init__(self, name, trees, vocabulary):
        self.name = name
        self.file, self.vocabulary = (os.path.join(work, name + end) for end in ('.ptb', '.vocab'))
        numbers = {word: i for i, word in enumerate(vocabulary)}
        self.trees = [files.numbered(t, numbers) for t in trees]
        self.batch = (len(trees) + 3) // 4
        assert len(trees) % self.batch  # the last batch is smaller
        for path, lines in ((self.file, map(files.brackets, trees)), (self.vocabulary, vocabulary)):
            with open(path, 'w', encoding='utf-8') as f:
                f.write(''.join(line + '\n' for line in lines))


def checks(banks):
    """As arguments of `check`. The first steps of AdaGrad and Adam are about the rate times the signs of the gradients.
    So with high rates differences of 1e-7 in the weights become some of 1e-3 in the losses: the RNTN does so in 20
    steps of AdaGrad of 0.01, but remains below 1e-8 with 0.002. The rates are low enough for that."""
    sgd = Options('sgd', 0.002)
    for bank in banks:
        for name in MODELS:
            yield name, bank, 'sgd', sgd
            yield name, bank, 'adagrad', Options('adagrad', 0.002), bank.batch
    optimizers = {
        'momentum': Options('sgd', 0.0005, momentum=0.9),
        'sgd with decay': Options('sgd', 0.002, decay=0.5),
        'clip': Options('sgd', 0.05, clip=4.0),
        'adagrad with decay': Options('adagrad', 0.002, decay=0.1),
        'adam': Options('adam', 0.001),
        'adam, cosine': Options('adam', 0.002, schedule='cosine', warmup=4),
        'adamw, linear': Options('adamw', 0.001, decay=2.0, schedule='linear'),
    }
    for title, options in optimizers.items():
        for size in (None, banks[0].batch):
            yield 'tree_rnn', banks[0], title, options, size


def main():
    global program, sources, work
    program, sources, share = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if torch:
        torch.set_num_threads(1)
    else:
        print('left out: the same in PyTorch, which is not installed')
    with tempfile.TemporaryDirectory() as work:
        trees = files.generated_trees()[3::4]
        banks = [Treebank('generated', trees, files.words_of(trees))]
        folder = os.environ.get('HIATON_SST_DIR')
        if folder:
            trees = files.read_brackets(os.path.join(folder, 'train.txt'))[:7]
            banks.append(Treebank('SST', trees, files.words_of(trees)[:60] + ['<unk>']))
        else:
            print('left out: trees of the Stanford Sentiment Treebank; HIATON_SST_DIR is not set')
        for arguments in list(checks(banks))[::max(share, 2)]:
            check(*arguments)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    sys.exit(failed > 0)


main()
