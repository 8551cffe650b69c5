# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Runs the models of examples/models/ and compares them with models.py: losses and likelihoods to 1e-5, and
predictions, which may differ only where the best scores do not. All engines print the same.

    run.py HIATON SOURCE-DIR SHARE [TITLE...]     all checks, or those whose titles begin like one of these

Of the generated trees, one in SHARE is taken. If HIATON_SST_DIR is the folder of a treebank (train.txt, dev.txt), its
trees are taken, too."""
import os
import subprocess
import sys

import numpy as np

import checking
import files
import models
from checking import Refused, check, check_saved, example, hiaton, is_best, near, saved, value, verdict, write, written

WORDS = 18278  # const WORDS of the programs


# ---- networks over trees ----


def classes_of(tree):
    """The labels of a printed tree, children before parents."""
    if tree[0] == 'Leaf':
        return [tree[2]]
    return classes_of(tree[1]) + classes_of(tree[2]) + [tree[3]]


def compare_roots(expected):
    def compare(printed):
        if len(printed) != len(expected):
            return '%d trees, not %d' % (len(printed), len(expected))
        for i, ((root, loss), (scores, wanted)) in enumerate(zip(printed, expected)):
            if not near(loss, wanted) or not is_best(scores[-1], root):
                return 'tree %d: class %d, loss %r, not %d, %r' % (i, root, loss, scores[-1].argmax(), wanted)
        return None

    return compare


def compare_classes(expected, classes=classes_of):
    def compare(printed):
        if len(printed) != len(expected):
            return '%d trees, not %d' % (len(printed), len(expected))
        for i, (tree, (scores, _)) in enumerate(zip(printed, expected)):
            got = classes(tree)
            if len(got) != len(scores) or not all(is_best(s, c) for s, c in zip(scores, got)):
                return 'tree %d: classes %s, not %s' % (i, got, [int(s.argmax()) for s in scores])
        return None

    return compare


class Treebank:
    def __init__(self, name, trees, vocabulary):
        self.name, self.trees = name, trees
        self.file = write(name + '.ptb', ''.join(files.brackets(t) + '\n' for t in trees))
        self.vocabulary = write(name + '.vocab', ''.join(word + '\n' for word in vocabulary))
        numbers = {word: i for i, word in enumerate(vocabulary)}
        self.numbered = [files.numbered(t, numbers) for t in trees]

    def words(self, name, params, *more):
        return [example(name), '@' + self.file, '--vocab', self.vocabulary, '--params', params, *more]


def tree_models(bank):
    networks = {'tree_rnn': models.TreeRnn, 'rntn': models.Rntn, 'tree_lstm': models.TreeLstm}
    for seed, (name, model) in enumerate(networks.items()):
        w = files.weights(model.shapes(WORDS), seed)
        params = saved(name, w)
        peer = model(w)
        expected = [peer.run(t) for t in bank.numbered]
        total = sum(loss for _, loss in expected)
        title, program = '%s, %s' % (name, bank.name), name + '.hia'
        check(title, bank.words(program, params), compare_roots(expected))
        check(title + ', all nodes', bank.words(program, params, '--fn', 'predictions'), compare_classes(expected))
        check(title + ', loss', bank.words(program, params, '--fn', 'loss'),
              lambda loss, total=total: None if near(loss, total) else '%r, not %r' % (loss, total))
        if name == 'tree_rnn':
            iterative(bank, params, expected)
            unrolled(bank, params)
        os.remove(params)


def iterative(bank, params, expected):
    program = 'tree_rnn_iterative.hia'
    check('iterative, ' + bank.name, bank.words(program, params), compare_roots(expected))
    check('iterative, %s, all nodes' % bank.name, bank.words(program, params, '--fn', 'predictions'),
          compare_classes(expected, lambda tree: tree[1]))


def unrolled(bank, params):
    """Four trees, each a program, which gives what the recursive one gives, to the last bit."""
    try:
        recursive = value(hiaton(bank.words('tree_rnn.hia', params)))
    except Refused as e:
        verdict('unrolled, ' + bank.name, str(e))
        return
    n = len(bank.trees)
    for i in sorted({0, n // 8, n // 2, n - 1}):
        command = [sys.executable, example('unroll.py'), bank.file, bank.vocabulary, str(i + 1)]
        unrolled = write('unrolled.hia', subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        check('unrolled, %s, tree %d' % (bank.name, i), [unrolled, '--params', params],
              lambda printed, i=i: None if printed == recursive[i] else '%r, not %r' % (printed, recursive[i]))


def small(name):
    """The expectations of a program in tests/programs/ are those of small.py."""
    if not checking.is_chosen('small'):
        return
    folder = os.path.join(checking.sources, 'tests')
    command = [sys.executable, os.path.join(folder, 'peers', 'small.py'), name]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with open(os.path.join(folder, 'programs', name + '.hia'), encoding='utf-8') as f:
        there = [line for line in f if line.startswith('# small:')]
    verdict('small, ' + name, None if printed == ''.join(there) else 'the program expects something else')


# ---- the others ----


def tagger():
    w = files.weights(models.Tagger.shapes(), 10)
    random = np.random.RandomState(11)
    sentences = [(random.randint(0, 1000, n), random.randint(0, 300, n)) for n in (1, 2, 9, 40)]
    peer = models.Tagger(w)
    expected = [peer.run(*s) for s in sentences]

    def compare(printed):
        for i, ((tags, loss), (scores, wanted)) in enumerate(zip(printed, expected)):
            are_best = len(tags) == len(scores) and all(is_best(s, t) for s, t in zip(scores, tags))
            if not are_best or not near(loss, wanted):
                return 'sentence %d: %r %r, not %r' % (i, tags, loss, wanted)
        return None if len(printed) == len(expected) else 'sentences are missing'

    text = '[%s]' % ', '.join('(%s, %s)' % (written(words), written(tags)) for words, tags in sentences)
    words = [example('bilstm_tagger.hia'), '@' + write('sentences', text), '--params', saved('bilstm_tagger', w)]
    check('bilstm_tagger', words, compare)
    total = sum(loss for _, loss in expected)
    check('bilstm_tagger, loss', words + ['--fn', 'loss'],
          lambda loss: None if near(loss, total) else '%r, not %r' % (loss, total))


def size(tree):
    return 0 if tree is None else 1 + sum(size(t) for t in tree[2:])


def top_down():
    w = files.weights(models.TopDown.shapes(), 20)
    peer = models.TopDown(w)
    roots = list(range(0, 1000, 83))
    for depth in (0, 1, 5, 12):
        expected = [peer.grow(root, depth) for root in roots]
        if depth == 12 and len({size(t) for t in expected}) < 4:
            verdict('top_down_tree_lstm', 'trees of few sizes test little: %s' % [size(t) for t in expected])
        check('top_down_tree_lstm, depth %d' % depth,
              [example('top_down_tree_lstm.hia'), written(roots), str(depth), '--params', saved('top_down', w)],
              lambda printed, expected=expected: None if printed == expected else
              'trees of %s nodes, not %s' % ([size(t) for t in printed], [size(t) for t in expected]))


def top_down_loss():
    w = files.weights(models.TopDown.shapes(), 21)
    peer, random = models.TopDown(w), np.random.RandomState(22)

    def tree(n):
        if n == 0:
            return None
        left, right = random.randint(0, n), random.randint(0, n)
        left, right = min(left, right), max(left, right)
        return int(random.randint(0, 1000)), tree(left), tree(right - left), tree(n - 1 - right)

    def text(t):
        return 'None' if t is None else 'Word(%d, %s, %s, %s)' % (t[0], text(t[1]), text(t[2]), text(t[3]))

    # What is next to the root counts for nothing.
    trees = [tree(n) for n in (1, 2, 3, 5, 9, 17, 60)]
    total = sum(peer.loss(t) for t in trees)
    given = '@' + write('top_down', '[%s]' % ', '.join(text(t) for t in trees))
    check('top_down_tree_lstm, loss',
          [example('top_down_tree_lstm.hia'), '--fn', 'loss', given, '--params', saved('top_down_loss', w)],
          lambda loss: None if near(loss, total) else '%r, not %r' % (loss, total))


def felsenstein():
    def random_tree(random, taxa, root=True):
        length = 0.0 if root else random.uniform(0.01, 0.6)
        if len(taxa) == 1:
            return (taxa[0], length)
        k = random.randint(1, len(taxa))
        return (random_tree(random, taxa[:k], False), random_tree(random, taxa[k:], False), length)

    def hia(t):
        return 'Leaf(%d, %r)' % t if len(t) == 2 else 'Node(%s, %s, %r)' % (hia(t[0]), hia(t[1]), t[2])

    def evolve(random, t, states, columns):  # sequences that are related, as real ones are
        changed = random.rand(len(states)) < 1 - np.exp(-t[-1])
        states = np.where(changed, random.randint(0, 4, len(states)), states)
        if len(t) == 2:
            columns[:, t[0]] = states
        else:
            evolve(random, t[0], states, columns)
            evolve(random, t[1], states, columns)

    def data(random, tree, n, n_patterns):
        columns = np.zeros((n_patterns, n), int)
        evolve(random, tree, random.randint(0, 4, n_patterns), columns)
        return columns, random.randint(1, 20, n_patterns).astype(float)

    def arguments(tree, columns, counts):
        return ['@' + write('tree', hia(tree)), '@' + write('patterns', written(columns.T)), written(counts),
                written(rates)]

    rates = np.array([0.1369538, 0.4767519, 1.0, 2.3862943])
    for n, n_patterns, likelihood in ((5, 24, models.likelihood_summed), (5, 24, models.likelihood_pruned),
                                      (64, 1000, models.likelihood_pruned)):
        random = np.random.RandomState(30 + n)
        tree = random_tree(random, random.permutation(n).tolist())
        columns, counts = data(random, tree, n, n_patterns)
        wanted = models.log_likelihood(tree, columns, counts, rates, likelihood)
        check('felsenstein, %d taxa, %s' % (n, likelihood.__name__),
              [example('felsenstein.hia')] + arguments(tree, columns, counts),
              lambda printed, wanted=wanted: None if abs(printed - wanted) <= 1e-10 * abs(wanted) else
              '%r, not %r' % (printed, wanted))

    # Trees of which likelihoods are below the smallest f64: a random one, and one that is as deep as it has taxa.
    def chain(random, n):
        tree = (0, random.uniform(0.01, 0.6))
        for taxon in range(1, n):
            tree = (tree, (taxon, random.uniform(0.01, 0.6)), random.uniform(0.001, 0.05) if taxon < n - 1 else 0.0)
        return tree

    def lengths_of(t):
        return [t[-1]] if len(t) == 2 else lengths_of(t[0]) + lengths_of(t[1]) + [t[-1]]

    def wrong_gradient(random, tree, columns, counts, arrays):
        value, gradient = arrays
        lengths = np.array(lengths_of(tree))

        def f(x):
            return models.log_likelihood_scaled(tree, columns, counts, rates, x)
        if not abs(value - f(lengths)) <= 1e-10 * abs(value):
            return '%r, not %r' % (value, f(lengths))
        if len(gradient) != len(lengths):
            return '%d derivatives of %d lengths' % (len(gradient), len(lengths))
        # Central differences: of single lengths, and along directions in which all of them change.
        directions = [np.eye(1, len(lengths), i)[0] for i in random.choice(len(lengths), 3, replace=False)]
        directions += [random.choice([-1.0, 1.0], len(lengths)) * lengths for _ in range(2)]
        for d in directions:
            h = 1e-4
            expected, found = (f(lengths + h * d) - f(lengths - h * d)) / (2 * h), float(np.dot(gradient, d))
            size = np.sqrt(np.sum((np.array(gradient) * d) ** 2))
            if not abs(found - expected) <= 1e-4 * max(size, 1):
                return 'a derivative of %r, not %r' % (found, expected)
        return None

    sys.setrecursionlimit(20000)
    for name, make, n, n_patterns in (('random', lambda random, n: random_tree(random, random.permutation(n).tolist()),
                                       2000, 12), ('a chain', chain, 2000, 3)):
        random = np.random.RandomState(40)
        tree = make(random, n)
        columns, counts = data(random, tree, n, n_patterns)
        title = 'felsenstein, the gradient, %s of %d taxa' % (name, n)
        words = [example('felsenstein.hia'), '--fn', 'gradient'] + arguments(tree, columns, counts)
        check_saved(title, words, lambda arrays: wrong_gradient(random, tree, columns, counts, arrays))


def main():
    share = checking.begin()
    trees = files.generated_trees()[::max(share, 2)]
    tree_models(Treebank('generated', trees, files.words_of(trees)))
    folder = os.environ.get('HIATON_SST_DIR')
    if folder:
        train, dev = (files.read_brackets(os.path.join(folder, name)) for name in ('train.txt', 'dev.txt'))
        vocabulary = files.words_of(train)[:WORDS - 1] + ['<unk>']
        tree_models(Treebank('SST', dev[::share * 8], vocabulary))
    else:
        print('left out: trees of the Stanford Sentiment Treebank; HIATON_SST_DIR is not set')
    small('models')
    small('tensor_programs')
    small('control')
    tagger()
    top_down()
    top_down_loss()
    felsenstein()
    checking.end()


main()
