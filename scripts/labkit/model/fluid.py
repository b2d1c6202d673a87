# SPDX-License-Identifier: GPL-2.0
"""Fluid models of two papers: delay differential equations of one link.

The model of ACP, Eqs. (19) and (20) of its paper:

    x'(t) = -ki/tau x(t - tau) - kq/tau^2 q(t - tau)
    q'(t) = x(t), but 0 where the queue is empty and x(t) < 0

x is the input rate minus the capacity, packets/s; q is the queue, packets; tau is the delay, s.

If time is in units of the delay, and the queue in units of rate times delay, the equations do not
contain tau.  A solution multiplied by a positive number is a solution, too.  So only the angle of
the start in the plane of x and q/tau matters, and a half circle covers all starts.

The paper does not define x and q for t < 0.  Here they are constant, with their values at t = 0, as
in Matlab's dde23; or the caller gives the whole history.

The model of ACP with its estimate M of the number of users N, Eqs. (1) and (11) to (18).  The rate
p and the estimate depend on each other.

    p'(t) = (ki/tau (C - y(t)) - kq/tau^2 q(t)) / M(t), from 0 to C;  y(t) = N p(t - tau)
    M'(t) = gamma/tau (y(t) - M(t) p(t)) p(t) / (1 + p(t)^2), at least 1

The model of CCPD, Section III of its paper: the queue of Eq. (1) and the rate of Eq. (2).  F(t) is
the Smith predictor: the traffic in flight, sent during the last round trip.

    x'(t) = u(t - Tff) + d(t), but 0 where the queue is empty and that is below 0
    u(t) = Kp (B - x(t - Tfb) - F(t)) + Kd d/dt (B - x(t - Tfb) - F(t)), at least 0

u is the sender's rate, d the rate of other senders minus the capacity, B the buffer, and Tff + Tfb
the round trip.  If time is in round trips and segments are in bandwidth-delay products, B is the
only parameter of a path.  While the queue is not empty, x(t - Tfb) + F(t) is the sum of the
integrals of u and d.  Then the loop contains no delay, and (1 + Kd) u' = -Kp (u + d).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

KI, KQ = 0.1587, 0.3175
STEPS = 50  # per delay
DELAYS = 60  # after so many a trajectory should have reached the origin

# The starts of the trajectories in Figs. 19 and 20: x, q, tau
PORTRAITS = {
    "start": [(x, 100, 1) for x in range(0, 101, 20)] + [(100, q, 1) for q in range(80, -1, -20)],
    "delay": [(100, 0, ms / 1000) for ms in range(100, 601, 100)],
}


def trajectories(
    x0: Any, q0: Any, tau: Any = 1.0, *, delays: int = DELAYS, steps: int = STEPS, ki: float = KI,
    kq: float = KQ, saturates: bool = True,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """x and q from t = 0: a row for each step, a column for each trajectory.

    x0 and q0 have one number per trajectory, or its whole history: steps + 1 rows that end at
    t = 0.  tau: the delay, s.  steps: per delay.  saturates: the queue cannot become negative.

    The delay is a whole number of steps.  So x' is known at both ends of a step, and the
    trapezoidal rule is explicit.  Within a step x is linear, and the queue is its exact integral,
    limited to 0 from below.  The error falls with the square of the step.
    """
    x0, q0, tau = (np.asarray(value, float) for value in (x0, q0, tau))
    h = tau / steps
    shape = np.broadcast_shapes(x0.shape[-1:], q0.shape[-1:], tau.shape)
    x = np.empty((steps * (delays + 1) + 1, *shape))
    q = np.empty_like(x)
    x[: steps + 1], q[: steps + 1] = x0, q0
    for k in range(steps, len(x) - 1):
        then = slice(k - steps, k - steps + 2)
        slope = -ki / tau * x[then] - kq / tau**2 * q[then]
        a, b = x[k], x[k] + h / 2 * (slope[0] + slope[1])
        x[k + 1] = b
        if not saturates:
            q[k + 1] = q[k] + h / 2 * (a + b)
            continue
        # If x becomes positive in this step, the queue first falls, but not below 0, then rises.
        crosses = (a < 0) & (b > 0)
        share = np.where(crosses, -a / np.where(crosses, b - a, 1), 1)
        end = np.where(crosses, 0, b)
        fallen = np.maximum(0, q[k] + share * h / 2 * (a + end))
        q[k + 1] = fallen + (1 - share) * h / 2 * b
    return x[steps:], q[steps:]


def portrait(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The trajectories of a figure."""
    return trajectories(*np.array(PORTRAITS[name], float).T)


def dominant_root(ki: float = KI, kq: float = KQ) -> complex:
    """The root of s^2 + (ki s + kq) e^-s = 0 with the largest real part, in 1/delay.

    This is the characteristic equation of the model without saturation.  Newton's method starts
    from a grid.  A root with Re s >= 0 satisfies |s|^2 <= ki |s| + kq, so it is in the grid.
    """
    re, im = np.meshgrid(np.linspace(-2, 1, 31), np.linspace(0, 4, 41))
    s = (re + 1j * im).ravel()
    with np.errstate(all="ignore"):  # some starts diverge
        for _ in range(50):
            decay = np.exp(-s)
            s -= (s * s + (ki * s + kq) * decay) / (2 * s + (ki - ki * s - kq) * decay)
        found = s[np.abs(s * s + (ki * s + kq) * np.exp(-s)) < 1e-12]
    return found[found.real.argmax()]


GAMMA = 0.1
CAPACITY = 1e7  # bytes/s, so large that the 1 in 1 + p^2 is negligible


def acp(
    before: Any, after: Any, *, delays: int = 300, steps: int = 50, gamma: float = GAMMA,
    estimate: str = "law", proportional: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """y / C, M and q / (C tau) after the number of users changes, a row for each step.

    before, after: the numbers of users, a column for each pair; the model is in equilibrium before.
    estimate: M follows the law ("law"), is y / p ("ratio"), or is constant ("kept").
    proportional: gain of the derivative of C - y, which is added to the slope of p.
    """
    before, after = np.broadcast_arrays(np.asarray(before, float), np.asarray(after, float))
    h = 1 / steps
    p = np.empty((steps * (delays + 1) + 1, *before.shape))
    y, q, m = np.zeros_like(p), np.zeros_like(p), np.empty_like(p)
    p[: steps + 1], m[: steps + 1] = CAPACITY / before, before
    y[: steps + 1] = CAPACITY
    for k in range(steps, len(p) - 1):
        y[k] = after * p[k - steps]
        if estimate == "ratio":
            m[k] = np.maximum(y[k] / p[k], 1)
        slope = KI * (CAPACITY - y[k]) - KQ * q[k]
        slope += proportional * (y[k - 1] - y[k]) / h * (k > steps)
        p[k + 1] = np.clip(p[k] + h * slope / m[k], 1, CAPACITY)
        q[k + 1] = np.maximum(q[k] + h * (y[k] - CAPACITY), 0)
        moves = gamma * (y[k] - m[k] * p[k]) * p[k] / (1 + p[k] ** 2)
        m[k + 1] = np.maximum(m[k] + h * moves * (estimate == "law"), 1)
    y[-1] = after * p[-1 - steps]
    return y[steps:] / CAPACITY, m[steps:], q[steps:] / CAPACITY


def ccpd(
    kp: Any, kd: Any, buffer: Any, *, trips: int = 200, steps: int = 50, cross: float = 0.0,
    predicts: bool = True,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """u and x of CCPD's model, from an empty path: a row for each step, a column for each sender.

    kp: in 1/round trip.  buffer: in bandwidth-delay products.  Tff and Tfb are half a round trip.
    cross: share of the capacity that other senders use in the second half of the run.
    predicts: whether the control law includes the traffic in flight F(t).

    The traffic in flight includes the rate at the end of the step (implicit method), so any gain is
    stable with any step.  The error falls with the step.
    """
    kp, kd, buffer = np.broadcast_arrays(*(np.asarray(v, float) for v in (kp, kd, buffer)))
    h, half = 1 / steps, steps // 2
    u = np.zeros((steps * (trips + 1) + 1, *kp.shape))
    x, slope = np.zeros_like(u), np.zeros_like(u)
    flight = np.zeros(kp.shape)
    for k in range(steps, len(u)):
        others = (cross if k >= len(u) // 2 else 0) - 1
        slope[k] = u[k - half] + others
        slope[k] = np.maximum(slope[k], -x[k - 1] / h)
        x[k] = x[k - 1] + h * slope[k]
        if predicts:
            flight += h * (u[k - 1] - u[k - steps])
            error = buffer - x[k - half] - flight
            change = u[k - steps] - slope[k - half]
            u[k] = (kp * error + kd * change) / (1 + kd + kp * h)
        else:
            u[k] = kp * (buffer - x[k - half]) - kd * slope[k - half]
        u[k] = np.maximum(u[k], 0)
    return u[steps:], x[steps:]


# Measures of findings ---------------------------------------------------------------------------


def _starts(count: int) -> tuple[np.ndarray, np.ndarray]:
    """x and q of count starts on the half circle, from x = -1 to x = 1 with q >= 0."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, count)
    return np.sin(angle), np.cos(angle).round(15)


def _remaining(x: np.ndarray, q: np.ndarray, tau: Any = 1.0) -> float:
    """The largest distance from the origin after DELAYS, as a share of the distance at start."""
    distance = np.hypot(x, q / tau)
    return (distance[DELAYS * STEPS :].max(axis=0) / distance[0]).max()


def _of_portrait(name: str) -> float:
    x, q = portrait(name)
    return _remaining(x, q, np.array(PORTRAITS[name])[:, 2])


def _of_starts() -> float:
    x, q = trajectories(*_starts(361))
    return _remaining(x, q)


def _of_pasts() -> float:
    """The remaining distance for random histories: 10 levels each, and x, q for t < 0 = 0."""
    draw = np.random.default_rng(1)
    row = np.arange(STEPS + 1) * 10 // (STEPS + 1)
    x0, q0 = draw.uniform(-1, 1, (10, 1000))[row], draw.uniform(0, 1, (10, 1000))[row]
    for past, start in zip((x0, q0), _starts(200), strict=True):
        past[:-1, :200], past[-1, :200] = 0, start
    x, q = trajectories(x0, q0)
    largest = np.hypot(x0, q0).max(axis=0)
    return (np.hypot(x, q)[DELAYS * STEPS :] / largest).max()


def _queue_per_ms() -> float:
    """The smallest increase of the maximum queue from one delay of Fig. 20 to the next, per ms."""
    _, q = portrait("delay")
    return (np.diff(q.max(axis=0)) / np.diff(np.array(PORTRAITS["delay"])[:, 2] * 1e3)).min()


def _scaling() -> float:
    """The largest difference between scaled trajectories, delays of 10 ms to 10 s against 1 s."""
    sine, tau = np.meshgrid(np.linspace(-1, 1, 19), np.geomspace(0.01, 10, 31))
    sine, tau = sine.ravel(), tau.ravel()
    cosine = np.sqrt(1 - sine**2)
    x, q = trajectories(sine, cosine * tau, tau)
    one_x, one_q = trajectories(sine, cosine)
    return max(np.abs(x - one_x).max(), np.abs(q / tau - one_q).max())


def _queues() -> float:
    """The largest number of separate queues (empty to not empty) over all starts."""
    _, q = trajectories(*_starts(361))
    return ((q[0] > 0) + ((q[1:] > 0) & (q[:-1] == 0)).sum(axis=0)).max()


def _margin() -> float:
    """The largest stable ratio of the true delay to the delay that the router assumes."""
    low, high = 1.0, 8.0
    while high - low > 0.01:
        many = (low + high) / 2
        x, q = trajectories(*_starts(19), delays=200, ki=KI * many, kq=KQ * many**2)
        distance = np.hypot(x, q)
        late, later = distance[-100 * STEPS : -50 * STEPS], distance[-50 * STEPS :]
        low, high = (many, high) if later.max() < late.max() else (low, many)
    return low


# The number of users before the change, and its factor.  With a much larger factor p falls to
# almost 0, and y / p is not a possible number of users: Eq. (8) has to pause there.
_BEFORE, _TIMES = np.meshgrid([10, 20, 50, 200, 1000], [0.1, 0.2, 0.5, 0.9, 1.1, 1.25, 1.5])


@cache
def _acp(**options: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return acp(_BEFORE, _BEFORE * _TIMES, **options)


def _acp_rate() -> float:
    """The largest difference of the input rate from the capacity at the end, as a share."""
    return np.abs(_acp()[0][-1000:] - 1).max()


def _acp_flows() -> float:
    """The largest difference of the estimate from the number of users at the end, as a share."""
    return np.abs(_acp()[1][-1000:] / (_BEFORE * _TIMES) - 1).max()


def _theorem() -> float:
    """The largest ratio of the estimate's error to its bound, Eq. (15), for p above a minimum."""
    draw, steps, worst = np.random.default_rng(1), 4000, 0.0
    for least in (0.1, 1, 10, 1e6):
        p = least * (1 + 9 * draw.random((steps, 50)) ** 3)
        users, m = draw.integers(1, 1000, 50), draw.uniform(1, 1000, 50)
        first, h = np.abs(m - users), 0.02
        for k in range(steps):
            # Integrates Eqs. (10) to (12) step by step; does not use their solution, (15).
            m = m + GAMMA * h * (users * p[k] - m * p[k]) * p[k] / (1 + p[k] ** 2)
            bound = first * np.exp(-GAMMA * least**2 / (1 + least**2) * h * (k + 1))
            worst = max(worst, (np.abs(m - users) / bound).max())
    return worst


def _acp_varies(users: float, estimate: str) -> float:
    """Ten users become users: the range of the input at the end, as a share of the capacity."""
    y, _, _ = acp(10, users, estimate=estimate)
    return np.ptp(y[-1000:])


def _acp_undershoot(proportional: float) -> float:
    """Ten users become fifteen: the lowest input after that, as a share below the capacity."""
    y, _, _ = acp(10, 15, proportional=proportional)
    return 1 - y.min()


# Gains from 0.5 to 100 per round trip, and paths whose buffer is larger than 1 + 1 / Kp.  The error
# decays with the time constant (1 + Kd) / Kp round trips, at most 22: the 400 round trips of a run
# are 18 time constants.
_KP, _KD, _ROOM = np.meshgrid([0.5, 1, 2, 4, 10, 100], [0, 0.5, 2, 10], [0.1, 0.5, 2, 10])
_BUFFER = 1 + 1 / _KP + _ROOM


@cache
def _ccpd(cross: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    return ccpd(_KP, _KD, _BUFFER, trips=800 if cross else 400, cross=cross)


def _ccpd_off(cross: float = 0.0) -> float:
    """The largest difference of the rate from the remaining capacity at the end."""
    u, _ = _ccpd(cross)
    return np.abs(u[-1000:] - (1 - cross)).max()


def _ccpd_level() -> float:
    """The largest difference of the queue from B - 1 - 1/Kp at the end, as a share of B."""
    _, x = _ccpd()
    return (np.abs(x[-1000:] - _ROOM) / _BUFFER).max()


def _ccpd_overflow(cross: float = 0.0) -> float:
    """The largest excess of the queue over the buffer."""
    _, x = _ccpd(cross)
    return (x - _BUFFER).max()


def _ccpd_small() -> float:
    """The largest difference of the rate from Kp B / (1 + Kp), with a buffer below 1 + 1/Kp."""
    kp, share = np.meshgrid([0.5, 1, 2, 4, 10], [0.1, 0.3, 0.5, 0.9])
    u, _ = ccpd(kp, 0, share * (1 + 1 / kp))
    return np.abs(u[-1000:] - share).max()


def _ccpd_unpredicted() -> float:
    """The range of the rate at the end without the predictor, Kp 2, as a share of the capacity."""
    u, _ = ccpd(2, 0, 10, predicts=False)
    return np.ptp(u[-1000:])


MEASURES: dict[str, Callable[[], float]] = {
    **{f"remaining:{name}": lambda name=name: _of_portrait(name) for name in PORTRAITS},
    "remaining:anywhere": _of_starts,
    "remaining:any_past": _of_pasts,
    "queue_per_ms": _queue_per_ms,
    "scaling": _scaling,
    "queues": _queues,
    "root": lambda: dominant_root().real,
    "margin": _margin,
    "acp:rate": _acp_rate,
    "acp:flows": _acp_flows,
    "acp:theorem": _theorem,
    "acp:law": lambda: _acp_varies(20, "law"),
    "acp:ratio": lambda: _acp_varies(20, "ratio"),
    "acp:wrong": lambda: _acp_varies(80, "kept"),
    "acp:undershoot": lambda: _acp_undershoot(0.0),
    "acp:undershoot_proportional": lambda: _acp_undershoot(0.3),
    "ccpd:off": _ccpd_off,
    "ccpd:off_beside_half": lambda: _ccpd_off(0.5),
    "ccpd:level": _ccpd_level,
    "ccpd:overflow": _ccpd_overflow,
    "ccpd:small_buffer": _ccpd_small,
    "ccpd:unpredicted": _ccpd_unpredicted,
}


@cache
def measure(name: str) -> float:
    return float(MEASURES[name]())
