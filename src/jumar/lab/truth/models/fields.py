"""Four decision problems from the fields: upkeep of a bridge and of a machine, protection of a
species and control of a weed.

All run for ever: nothing ends an episode, and the discount of 0.95 a step is the weight of the
future. `max_steps` is 135, the first number of steps with 0.95^n < 0.001, where a simulation may
stop looking. The first observation is what is known before the first decision.

Probabilities and amounts are those of the published model files, which give no unit of money unless
one is told. Our own choices are readable names, the discount where a file has none or another, the
start and the first observation.
"""

from __future__ import annotations

import numpy as np

from jumar.lab.truth.pomdp import Pomdp, from_arrays

DISCOUNT = 0.95
MAX_STEPS = 135

# ---- the bridge: what one year does to its steel, (from, to) -----------------------------------

_AGE = [
    [0.80, 0.13, 0.02, 0.00, 0.05],
    [0.00, 0.70, 0.17, 0.05, 0.08],
    [0.00, 0.00, 0.75, 0.15, 0.10],
    [0.00, 0.00, 0.00, 0.60, 0.40],
    [0.00, 0.00, 0.00, 0.00, 1.00],
]
_PAINTED = [_AGE[0], [0, 0.80, 0.10, 0.02, 0.08], [0, 0, 0.80, 0.10, 0.10], *_AGE[3:]]
_STRENGTHENED = [
    _AGE[0],
    [0.19, 0.65, 0.08, 0.02, 0.06],
    [0.10, 0.20, 0.56, 0.08, 0.06],
    [0.00, 0.10, 0.25, 0.55, 0.10],
    _AGE[4],
]
_REPAIRS = (  # name, what the year does, cost by the state at the beginning of the year
    ("", _AGE, [0, 0, 0, 300, 2000]),
    ("paint", _PAINTED, [5, 8, 15, 320, 2050]),
    ("strengthen", _STRENGTHENED, [25, 80, 100, 450, 2500]),
    ("structural repair", [_AGE[0]] * 5, [40, 120, 550, 800, 4000]),
)
_INSPECTIONS = (  # name, what is found (state at the end of the year, finding), cost
    ("", [[1, 0, 0, 0, 0]] * 5, 0),
    (
        "visual",
        [
            [0.80, 0.20, 0.00, 0, 0],
            [0.20, 0.60, 0.20, 0, 0],
            [0.05, 0.70, 0.25, 0, 0],
            [0.00, 0.30, 0.70, 0, 0],
            [0.00, 0.00, 1.00, 0, 0],
        ],
        4,
    ),
    (
        "ultrasonic",
        [
            [0.90, 0.10, 0.00, 0.00, 0.00],
            [0.05, 0.90, 0.05, 0.00, 0.00],
            [0.00, 0.05, 0.90, 0.05, 0.00],
            [0.00, 0.00, 0.05, 0.90, 0.05],
            [0.00, 0.00, 0.00, 0.00, 1.00],
        ],
        18,
    ),
)


def bridge_repair() -> Pomdp:
    """Repair and inspection of a steel bridge, year by year (Ellis, Jiang and Corotis 1995).

    Hidden is how much of a girder has corroded away: less than 5 %, 5 to 15 %, 15 to 25 %, more,
    or so much that it has failed. A year's work is one of four repairs and one of three
    inspections. The repair acts first, and the inspection looks at what came of it:

    - *nothing*, *paint* (clean and paint: slows corrosion), *strengthen* (paint and strengthen:
      undoes some), *structural repair* (as good as new, and the only way back from failure);
    - no inspection, *visual* (a look, often wrong by one class), *ultrasonic* (thickness
      measured, right nine times in ten).

    So "visual" is an inspection without repair and "paint + visual" does both. A finding is the
    class that the inspection names. A look cannot tell anything worse than "moderate corrosion",
    not even a failure. Without inspection the finding is "no damage seen", the same word as after
    an inspection that found none: who forgets whether there was one cannot tell the two apart. A
    bridge begins new with "no damage seen" (the file has no discount and no start).

    >>> bridge = bridge_repair()
    >>> bridge.actions[:5]
    ('nothing', 'visual', 'ultrasonic', 'paint', 'paint + visual')
    >>> round(float(bridge.expected_reward[0, 4]), 9)  # paint 5, a look 4
    -9.0
    """
    pairs = [(repair, inspection) for repair in _REPAIRS for inspection in _INSPECTIONS]
    names = [" + ".join(filter(None, (r[0], i[0]))) or "nothing" for r, i in pairs]
    corrosion = [f"{degree} corrosion" for degree in ("light", "moderate", "heavy")]
    return from_arrays(
        name="bridge_repair",
        states=["below 5 %", "5 to 15 %", "15 to 25 %", "above 25 %", "failed"],
        actions=names,
        observations=["no damage seen", *corrosion, "failure"],
        transition=[repair[1] for repair, _ in pairs],
        observation=[inspection[1] for _, inspection in pairs],
        reward=[[-cost - inspection[2] for cost in repair[2]] for repair, inspection in pairs],
        start=[1, 0, 0, 0, 0],
        first_observation=[[1, 0, 0, 0, 0]] * 5,
        discount=DISCOUNT,
        max_steps=MAX_STEPS,
    )


# ---- the tiger ----------------------------------------------------------------------------------

_WORTH, _MANAGING, _SURVEYING = 175.133, 18.784, 10.840  # thousand US$ a year


def sumatran_tiger() -> Pomdp:
    """Manage, survey or give up a population that is hard to see (Chadès et al. 2008).

    Tigers may live in the reserve or be gone for good. Each year one either manages it (fewer are
    lost), surveys it (they are seen if they are there, 78 times in a hundred), or stops and
    spends the money elsewhere. A year with tigers is worth 175,133 US$, management costs 18,784
    and a survey 10,840; all rewards are in thousand US$. Without a survey a tiger is seen by chance
    in one year of a hundred. At first they are known to be present: so we read the file's start.
    """
    seen = np.array([0.01, 0.78193, 0.01])
    lost = np.array([0.05816, 0.10, 0.10])
    never, always = np.zeros(3), np.ones(3)
    cost = np.array([_MANAGING, _SURVEYING, 0.0])
    return from_arrays(
        name="sumatran_tiger",
        states=["extant", "extinct"],
        actions=["manage", "survey", "stop"],
        observations=["present", "absent"],
        transition=np.array([[1 - lost, lost], [never, always]]).transpose(2, 0, 1),
        observation=np.array([[seen, 1 - seen], [never, always]]).transpose(2, 0, 1),
        reward=np.column_stack([_WORTH - cost, 0 - cost]),
        start=[1, 0],
        first_observation=[[1, 0], [0, 1]],
        discount=DISCOUNT,
        max_steps=MAX_STEPS,
    )


# ---- the machine --------------------------------------------------------------------------------

# parts failed: before an item, after it
_WEAR = [[0.81, 0.18, 0.01], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]]
_AS_NEW = [[1.0, 0.0, 0.0]] * 3
_UNSEEN = [[1.0, 0.0]] * 3  # nobody looks, so nobody sees a defect


def machine() -> Pomdp:
    """A machine with two hidden parts that fail one by one (Smallwood and Sondik 1973).

    With every item each part that works may fail, and a machine with failed parts makes defective
    items more often. How many have failed is not seen:

    - *manufacture* an item and pass it on unseen: it is worth 1, 0.5 or 0.25 on average with none,
      one or two parts failed afterwards;
    - *examine* the item as well, for 0.25: with none failed it is good, with one it is defective
      half of the time, with both three times in four;
    - *inspect* the machine and replace the parts that have failed: 0.5, and 1 for each of them;
    - *replace* both parts unseen: 2.

    After an item that nobody examined the observation is "good", the same word as after one that
    was found good: who forgets whether he looked cannot tell the two apart.

    The file has discount 1, for a finite horizon; others use 0.95 as well. The machine begins new,
    with "good".
    """
    made = [1.0, 0.5, 0.25]  # by the parts failed after the item
    looked = [0.75, 0.25, 0.0]
    repaired = [[-0.5] * 3, [-1.5] * 3, [-2.5] * 3]  # by the parts failed before
    return from_arrays(
        name="machine",
        states=["none failed", "one failed", "two failed"],
        actions=["manufacture", "examine", "inspect", "replace"],
        observations=["good", "defective"],
        transition=[_WEAR, _WEAR, _AS_NEW, _AS_NEW],
        observation=[_UNSEEN, [[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]], _UNSEEN, _UNSEEN],
        reward=[[made] * 3, [looked] * 3, repaired, [[-2.0] * 3] * 3],
        start=[1, 0, 0],
        first_observation=_UNSEEN,
        discount=DISCOUNT,
        max_steps=MAX_STEPS,
    )


# ---- the weed -----------------------------------------------------------------------------------


def broomrape() -> Pomdp:
    """Crop, fumigate, or deny the weed its host (after Regan, Chadès and Possingham 2011).

    Branched broomrape is a weed without leaves that lives on the roots of crops. A field is empty,
    has a bank of seeds in its soil, or plants above it. Plants are seen seven times in ten, seeds
    never. Each year one

    - *crops* the field as usual: costs 2; of a seed bank 8 % die in a year and 38 % germinate;
    - *fumigates* it: costs 18, and eradicates plants with their seeds in 23 % of the years;
    - grows what is no host (*host denial*): costs 4; half as many seeds germinate.

    A clean field earns 1800 a year, host denial on a seed bank 150. The first observation is
    "present": the field begins with plants, as they are how one learns of it. One number is ours:
    the file charges 1,000,018 for fumigating seeds, which forbids it; here it costs 18 as anywhere,
    and the best value stays the same.
    """
    empty = [1.0, 0.0, 0.0]
    seen = [[1.0, 0.0], [1.0, 0.0], [0.3, 0.7]]
    return from_arrays(
        name="broomrape",
        states=["empty", "seeds", "adults"],
        actions=["crop", "fumigate", "host denial"],
        observations=["absent", "present"],
        transition=[
            [empty, [0.08, 0.5704, 0.3496], [0.0, 0.62, 0.38]],
            [empty, [0.0, 1.0, 0.0], [0.2330827068, 0.4754887218, 0.2914285714]],
            [empty, [0.08, 0.7452, 0.1748], [0.0, 0.81, 0.19]],
        ],
        observation=[seen] * 3,
        reward=[[1798, -2, -2], [1782, -18, -18], [1796, 146, -4]],
        start=[0, 0, 1],
        first_observation=[[1, 0], [1, 0], [0, 1]],
        discount=DISCOUNT,
        max_steps=MAX_STEPS,
    )
