# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Networks of examples/models/ whose control is decided by values, in NumPy, from the equations of the papers that
those files name: of vectors in lists, in f64, from the f32 weights of the program that is compared. autodiff.py
differentiates them."""
import numpy as np

from models import log_softmax, lstm_step, sigmoid


def lstm(xs, wx, wh, b):
    """h after each of these vectors."""
    h = c = np.zeros(b.shape[0] // 4)
    states = []
    for x in xs:
        h, c = lstm_step(wx @ x + wh @ h + b, c)
        states.append(h)
    return states


class Network:
    # Of each param its shape, in the order of the program.
    SHAPES = {}

    def __init__(self, weights):
        self.w = {name: x.astype(np.float64) for name, x in weights.items()}

    def weights(self, *names):
        return [self.w[name] for name in names]

    def in_both_directions(self, xs, forward, backward):
        """Pairs of what comes out at each vector."""
        return list(zip(lstm(xs, *self.weights(*forward)), lstm(xs[::-1], *self.weights(*backward))[::-1]))


class CharacterTagger(Network):
    SHAPES = {'E': (1000, 128), 'C': (100, 32),
              'Uxf': (256, 32), 'Uhf': (256, 64), 'uf': (256,), 'Uxb': (256, 32), 'Uhb': (256, 64), 'ub': (256,),
              'Wxf': (512, 128), 'Whf': (512, 128), 'bf': (512,), 'Wxb': (512, 128), 'Whb': (512, 128), 'bb': (512,),
              'W': (64, 256), 'b': (64,), 'Wt': (50, 64), 'bt': (50,)}

    def embed(self, word):
        """A word is a number, or a list of characters."""
        if not isinstance(word, list):
            return self.w['E'][word]
        if not word:
            return np.zeros(self.w['uf'].shape[0] // 2)
        states = self.in_both_directions([self.w['C'][c] for c in word], ('Uxf', 'Uhf', 'uf'), ('Uxb', 'Uhb', 'ub'))
        return np.concatenate([states[-1][0], states[0][1]])

    def run(self, words, tags):
        """The scores of all tags, and the loss."""
        states = self.in_both_directions([self.embed(w) for w in words], ('Wxf', 'Whf', 'bf'), ('Wxb', 'Whb', 'bb'))
        scores = [self.w['Wt'] @ np.tanh(self.w['W'] @ np.concatenate(list(s)) + self.w['b']) + self.w['bt']
                  for s in states]
        return scores, -sum(log_softmax(s)[tag] for s, tag in zip(scores, tags))

    def loss(self, words, tags):
        return self.run(words, tags)[1]


class Translator(Network):
    SHAPES = {'E': (1000, 128), 'We': (1024, 384), 'be': (1024,), 'F': (1000, 128), 'Wd': (1024, 640), 'bd': (1024,),
              'A': (256, 256), 'C': (256, 512), 'O': (1000, 256), 'bo': (1000,)}

    def cell(self, weights, bias, parts, c):
        return lstm_step(self.w[weights] @ np.concatenate(parts) + self.w[bias], c)

    def encode(self, words):
        """The states at all words, and that of the cell at the last one."""
        h = c = np.zeros(self.w['be'].shape[0] // 4)
        states = []
        for word in words:
            h, c = self.cell('We', 'be', [self.w['E'][word], h], c)
            states.append(h)
        return states, h, c

    def attend(self, states, h):
        query = self.w['A'] @ h
        fits = [(state * query).sum(axis=-1, keepdims=True) for state in states]
        weights = np.exp(log_softmax(np.concatenate(fits)))
        return sum(weights[i:i + 1] * state for i, state in enumerate(states))

    def scores(self, states, word, a, h, c):
        """Of the words that may follow, and what there is then."""
        h, c = self.cell('Wd', 'bd', [self.w['F'][word], a, h], c)
        a = np.tanh(self.w['C'] @ np.concatenate([self.attend(states, h), h]))
        return self.w['O'] @ a + self.w['bo'], a, h, c

    def loss(self, source, target):
        states, h, c = self.encode(source)
        a, word, loss = np.zeros(self.w['A'].shape[0]), 0, 0.0
        for following in target + [0]:
            scores, a, h, c = self.scores(states, word, a, h, c)
            loss -= log_softmax(scores)[following]
            word = following
        return loss

    def translate(self, source):
        states, h, c = self.encode(source)
        a, word, words = np.zeros(self.w['A'].shape[0]), 0, []
        for _ in range(len(source) + len(source) // 2 + 3):
            scores, a, h, c = self.scores(states, word, a, h, c)
            word = int(scores.argmax())
            if word == 0:
                break
            words.append(word)
        return words


class Parser(Network):
    LABELS = 9
    SHAPES = {'E': (1000, 100), 'P': (20, 25), 'Wxf': (500, 125), 'Whf': (500, 125), 'bf': (500,), 'Wxb': (500, 125),
              'Whb': (500, 125), 'bb': (500,), 'nothing': (250,), 'W': (100, 1000), 'b': (100,), 'Wt': (19, 100),
              'bt': (19,)}

    def encode(self, words, tags):
        xs = [np.concatenate([self.w['E'][w], self.w['P'][t]]) for w, t in zip(words + [0], tags + [0])]
        return [np.concatenate(list(s))
                for s in self.in_both_directions(xs, ('Wxf', 'Whf', 'bf'), ('Wxb', 'Whb', 'bb'))]

    def scores(self, vectors, stack, buffer):
        features = [self.w['nothing'] if i > len(stack) else vectors[stack[-i]] for i in (3, 2, 1)]
        hidden = np.tanh(self.w['W'] @ np.concatenate(features + [vectors[buffer[0]]]) + self.w['b'])
        return self.w['Wt'] @ hidden + self.w['bt']

    def apply(self, transition, stack, buffer, arcs):
        """`arcs` gets (word, head, label)."""
        if transition == 0:
            stack.append(buffer.pop(0))
        elif transition <= self.LABELS:
            arcs.append((stack.pop(), buffer[0], transition - 1))
        else:
            word = stack.pop()
            arcs.append((word, stack[-1], transition - 1 - self.LABELS))

    def loss(self, words, tags, transitions):
        vectors, stack, buffer, loss = self.encode(words, tags), [], list(range(len(words) + 1)), 0.0
        for t in transitions:
            loss -= log_softmax(self.scores(vectors, stack, buffer))[t]
            self.apply(t, stack, buffer, [])
        return loss

    def allowed(self, stack, buffer):
        return ([0] if len(buffer) > 1 else []) + list(range(1, 1 + self.LABELS) if stack else []) + \
            list(range(1 + self.LABELS, 1 + 2 * self.LABELS) if len(stack) > 1 else [])

    def explored(self, words, tags, transitions):
        """The cross entropies of the best of the transitions after which as many of the right heads and labels can be
        had as before, along the best of all transitions. What can be had is searched."""
        arcs, stack, buffer = [], [], list(range(len(words) + 1))
        for t in transitions:
            self.apply(t, stack, buffer, arcs)
        right, known = set(arcs), {}

        def gain(t, stack, buffer):
            stack, buffer, arcs = list(stack), list(buffer), []
            self.apply(t, stack, buffer, arcs)
            return len(right.intersection(arcs)) + most(tuple(stack), tuple(buffer))

        def most(stack, buffer):
            if (stack, buffer) not in known:
                known[stack, buffer] = max((gain(t, stack, buffer) for t in self.allowed(stack, buffer)), default=0)
            return known[stack, buffer]

        vectors, stack, buffer, loss = self.encode(words, tags), [], list(range(len(words) + 1)), 0.0
        while stack or len(buffer) > 1:
            scores, allowed = self.scores(vectors, stack, buffer), self.allowed(stack, buffer)
            numbers = scores.x if hasattr(scores, 'x') else scores
            good = [t for t in allowed if gain(t, stack, buffer) == most(tuple(stack), tuple(buffer))]
            loss -= log_softmax(scores)[max(good, key=lambda t: numbers[t])]
            self.apply(max(allowed, key=lambda t: numbers[t]), stack, buffer, [])
        return loss

    def parse(self, words, tags):
        """The heads and the labels of the best allowed transitions."""
        vectors, stack, buffer, arcs = self.encode(words, tags), [], list(range(len(words) + 1)), []
        while stack or len(buffer) > 1:
            scores = self.scores(vectors, stack, buffer)
            self.apply(max(self.allowed(stack, buffer), key=lambda t: scores[t]), stack, buffer, arcs)
        arcs.sort()
        return [head for _, head, _ in arcs], [label for _, _, label in arcs]


class Spinn(Network):
    SHAPES = {'E': (1000, 200), 'Wx': (300, 200), 'bx': (300,), 'U': (750, 364), 'bu': (750,), 'T': (256, 514),
              'bt': (256,), 'D': (2, 64), 'bd': (2,), 'Wc': (5, 150), 'bc': (5,)}

    def run(self, words, transitions=None):
        """Along these transitions, or along those that it decides: they, their cross entropies, and the scores of the
        classes."""
        buffer = [np.split(self.w['Wx'] @ self.w['E'][w] + self.w['bx'], 2) for w in words]
        nothing = np.zeros(self.w['Wc'].shape[1])
        h = c = np.zeros(self.w['D'].shape[1])
        stack, made, loss = [], [], 0.0
        while buffer or len(stack) > 1:
            seen = [stack[-i][0] if i <= len(stack) else nothing for i in (1, 2)]
            seen.insert(0, buffer[0][0] if buffer else nothing)
            h, c = lstm_step(self.w['T'] @ np.concatenate(seen + [h]) + self.w['bt'], c)
            scores = self.w['D'] @ h + self.w['bd']
            if transitions is not None:
                t = transitions[len(made)]
                loss -= log_softmax(scores)[t]
            elif len(stack) < 2 or not buffer:
                t = 0 if len(stack) < 2 else 1
            else:
                t = int(scores[1] > scores[0])
            made.append(t)
            if t == 0:
                stack.append(buffer.pop(0))
            else:
                right, left = stack.pop(), stack.pop()
                i, o, fl, fr, u = np.split(self.w['U'] @ np.concatenate([left[0], right[0], h]) + self.w['bu'], 5)
                cell = sigmoid(i) * np.tanh(u) + sigmoid(fl) * left[1] + sigmoid(fr) * right[1]
                stack.append((sigmoid(o) * np.tanh(cell), cell))
        return made, loss, self.w['Wc'] @ stack[0][0] + self.w['bc']

    def loss(self, words, transitions, label):
        _, loss, scores = self.run(words, transitions)
        return loss - log_softmax(scores)[label]
