"""`opdump convert --format` and `opdump msaccucmp convert -f` against the definitions of the layouts, written down element by
element: random shapes, block sizes, groups and dtypes, both directions where there are two. OPDUMP_LAYOUT_CASES more is slower."""
import itertools
import math
import os
import pathlib
import random
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "msaccucmp"))
from conftest import dump_file, tensor

np = pytest.importorskip("numpy")

COUNT = int(os.environ.get("OPDUMP_LAYOUT_CASES", "6"))  # for each layout and target
NUMBERS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "NC1HWC0_C04": 12, "FRACTAL_Z_C04": 13, "CHWN": 14, "HWCN": 16,
           "C1HWNCoC0": 25, "NDHWC": 27, "FRACTAL_ZZ": 28, "FRACTAL_NZ": 29, "NCDHW": 30, "DHWCN": 31, "NDC1HWC0": 32,
           "FRACTAL_Z_3D": 33, "CN": 34, "NC": 35, "DHWNC": 36, "FRACTAL_Z_3D_TRANSPOSE": 37, "FRACTAL_ZN_LSTM": 38, "NCL": 47,
           "FRACTAL_Z_WINO": 48, "C1HWC0": 49, "NZ_C0_16": 50, "NZ_C0_32": 51, "NZ_C0_2": 52,
           "NZ_C0_4": 53, "NZ_C0_8": 54}
# number in a dump: stored type, bits, type in a .npy
DTYPES = {1: ("f4", 32, "f4"), 2: ("f2", 16, "f2"), 3: ("i1", 8, "i1"), 4: ("u1", 8, "u1"), 6: ("u2", 16, "u2"), 7: ("i4", 32, "i4"),
          8: ("i8", 64, "i8"), 11: ("?", 8, "?"), 12: ("f8", 64, "f8"), 16: ("c8", 64, "c8"), 17: ("c16", 128, "c16"),
          27: ("bf16", 16, "f4"), 28: ("i4p", 4, "i1"), 29: ("u1p", 1, "u1")}
FOUR, FIVE = ["NCHW", "NHWC", "HWCN", "CHWN"], ["NCDHW", "NDHWC", "DHWCN", "DHWNC", "ND"]
MATRICES = ["FRACTAL_NZ", "NZ_C0_2", "NZ_C0_4", "NZ_C0_8", "NZ_C0_16", "NZ_C0_32", "FRACTAL_ZZ"]


def cdiv(a, b):
    return -(-a // b)


def opened(groups, n, c, c0):
    """How filters of several groups are folded: E, channel blocks, filter blocks, G'."""
    cout = n // groups
    fold = min(math.lcm(c0 // math.gcd(c, c0), 16 // math.gcd(cout, 16)), groups)
    return fold, cdiv(c * fold, c0), cdiv(cout * fold, 16), cdiv(groups, fold)


# Each: sizes of the logical tensor, c0, groups -> stored shape, function from a logical index to a stored one.

def nc1hwc0(s, c0, _):
    return (s["N"], cdiv(s["C"], c0), s["H"], s["W"], c0), lambda i: (i["N"], i["C"] // c0, i["H"], i["W"], i["C"] % c0)


def ndc1hwc0(s, c0, _):
    return ((s["N"], s["D"], cdiv(s["C"], c0), s["H"], s["W"], c0),
            lambda i: (i["N"], i["D"], i["C"] // c0, i["H"], i["W"], i["C"] % c0))


def c1hwc0(s, c0, _):
    return (cdiv(s["N"], c0), s["H"], s["W"], c0), lambda i: (i["N"] // c0, i["H"], i["W"], i["N"] % c0)


def fractal_z(s, c0, groups):
    fold, c1, no, outer = opened(groups, s["N"], s["C"], c0)
    cout = s["N"] // groups

    def place(i):
        g = i["N"] // cout
        dst_c, dst_n = g % fold * s["C"] + i["C"], g % fold * cout + i["N"] % cout
        block = g // fold * c1 + dst_c // c0
        return (block * s["H"] + i["H"]) * s["W"] + i["W"], dst_n // 16, dst_n % 16, dst_c % c0
    return (outer * c1 * s["H"] * s["W"], no, 16, c0), place


def fractal_z_3d(s, c0, groups):
    fold, c1, no, outer = opened(groups, s["N"], s["C"], c0)
    cout = s["N"] // groups

    def place(i):
        g = i["N"] // cout
        dst_c, dst_n = g % fold * s["C"] + i["C"], g % fold * cout + i["N"] % cout
        row = (((g // fold * s["D"] + i["D"]) * c1 + dst_c // c0) * s["H"] + i["H"]) * s["W"] + i["W"]
        return row, dst_n // 16, dst_n % 16, dst_c % c0
    return (outer * s["D"] * c1 * s["H"] * s["W"], no, 16, c0), place


def fractal_z_3d_transpose(s, c0, _):
    c1, no = cdiv(s["C"], c0), cdiv(s["N"], 16)
    shape = (s["D"] * s["H"] * s["W"] * no, c1, 16, c0)

    def place(i):
        flat = i["D"]
        for index, size in ((i["C"] // c0, c1), (i["H"], s["H"]), (i["W"], s["W"]), (i["N"], no * 16), (i["C"] % c0, c0)):
            flat = flat * size + index
        return np.unravel_index(flat, shape)
    return shape, place


def c1hwncoc0(s, c0, _):
    return ((cdiv(s["C"], c0), s["H"], s["W"], s["N"], c0, c0),
            lambda i: (i["C"] // c0, i["H"], i["W"], i["N"], i["C"] % c0, i["C"] % c0))


def fractal_z_c04(s, c0, _):
    def place(i):
        k = (i["H"] * s["W"] + i["W"]) * 4 + i["C"]
        return k // c0, i["N"] // 16, i["N"] % 16, k % c0
    return (cdiv(4 * s["H"] * s["W"], c0), cdiv(s["N"], 16), 16, c0), place


def fractal_z_wino(s, c0, _):
    return ((cdiv(s["C"], c0), cdiv(s["N"], 16), 2, s["H"] * s["W"], 8, c0),
            lambda i: (i["C"] // c0, i["N"] // 16, i["N"] % 16 // 8, i["H"] * s["W"] + i["W"], i["N"] % 8, i["C"] % c0))


def fractal_zn_lstm(s, _, __):
    h = s["N"] // 4
    inputs, columns = s["C"] - h, cdiv(h, 16)

    def place(i):
        c = i["C"] if i["C"] < inputs else i["C"] - inputs + cdiv(inputs, 16) * 16
        n = i["N"] // h * columns * 16 + i["N"] % h
        return c // 16, n // 16, n % 16, c % 16
    return (cdiv(inputs, 16) + columns, 4 * columns, 16, 16), place


STORED = {"NC1HWC0": (nc1hwc0, FOUR + ["NCL", "NC"]), "NC1HWC0_C04": (nc1hwc0, FOUR), "NDC1HWC0": (ndc1hwc0, FIVE), "C1HWC0": (c1hwc0, FOUR),
          "FRACTAL_Z": (fractal_z, FOUR + ["ND", "CN"]), "FRACTAL_Z_3D": (fractal_z_3d, FIVE),
          "FRACTAL_Z_3D_TRANSPOSE": (fractal_z_3d_transpose, FIVE), "C1HWNCoC0": (c1hwncoc0, FOUR), "FRACTAL_Z_C04": (fractal_z_c04, FOUR),
          "FRACTAL_Z_WINO": (fractal_z_wino, FOUR), "FRACTAL_ZN_LSTM": (fractal_zn_lstm, ["ND"])}


def axes_of(plain, stored):
    """The names of a plain layout's dimensions."""
    if plain == "ND":
        return "NCDHW" if stored in ("NDC1HWC0", "FRACTAL_Z_3D", "FRACTAL_Z_3D_TRANSPOSE") else "CN"
    return plain.replace("L", "W")


def sizes_of(rng, stored, axes):
    """Small sizes of the axes that `axes` names, 1 of the others; and the groups."""
    size = {axis: rng.choice([1, 1, 2, 3, 4, 5]) for axis in "DHW"}
    size["N"], size["C"] = (rng.choice([1, 2, 3, 7, 15, 16, 17, 20, 33, 40]) for _ in "NC")
    if stored == "C1HWC0":
        size["C"] = 1
    if stored == "FRACTAL_Z_C04":
        size["C"] = rng.randint(1, 4)
    if stored == "FRACTAL_ZN_LSTM":
        hidden = rng.choice([1, 3, 8, 16, 17, 20])
        size["N"], size["C"] = 4 * hidden, hidden + rng.choice([0, 1, 5, 16, 18])
    if len(axes) > 3 and stored in ("NC1HWC0", "NDC1HWC0"):
        size["N"] = rng.choice([1, 2, 3])
    size = {axis: size[axis] if axis in axes else 1 for axis in "NCDHW"}
    groups = 1
    if stored in ("FRACTAL_Z", "FRACTAL_Z_3D") and len(axes) > 3 and rng.random() < 0.5:
        groups = rng.choice([2, 3, 4, 8, 10])
        size["N"], size["C"] = groups * rng.choice([1, 2, 5, 8, 16]), rng.choice([1, 2, 3, 8, 16, 20])
    return size, groups


def random_elements(rng, dtype, shape):
    """As they lie in a dump (text), and as an array of the type of a .npy."""
    name, _, kind = DTYPES[dtype]
    low, high = {"?": (0, 2), "i4p": (-8, 8), "u1p": (0, 2), "i1": (-128, 128)}.get(name, (0, 250))
    array = np.array([rng.randrange(low, high) for _ in range(math.prod(shape))]).reshape(shape).astype(np.dtype(kind))
    if array.dtype.kind == "c":
        array = array + 1j * array[..., ::-1].real.astype(array.real.dtype)
    return packed(dtype, array), array


def packed(dtype, array):
    flat = array.reshape(-1)
    if DTYPES[dtype][0] == "bf16":
        return (flat.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    if DTYPES[dtype][0] == "i4p":
        nibbles = np.append(flat, np.zeros(len(flat) % 2, np.int8)) & 15
        return (nibbles[::2] | nibbles[1::2] << 4).astype(np.uint8).tobytes()
    return np.packbits(flat).tobytes() if DTYPES[dtype][0] == "u1p" else array.tobytes()


def device_c0(dtype):
    """What the chips before 950 put into a block."""
    return 256 // DTYPES[dtype][1] if DTYPES[dtype][0] in ("i1", "u1", "i4p", "u1p") else 16


def gathered(stored, place, axes, size):
    """The plain tensor that `stored` holds."""
    shape = tuple(size[axis] for axis in axes)
    plain = np.zeros(shape, stored.dtype)
    for index in np.ndindex(*shape):
        plain[index] = stored[tuple(place({**dict.fromkeys("NCDHW", 0), **dict(zip(axes, index))}))]
    return plain


def scattered(plain, shape, place, axes):
    """`plain` as it is stored, padding 0."""
    stored = np.zeros(shape, plain.dtype)
    for index in np.ndindex(*plain.shape):
        stored[tuple(place({**dict.fromkeys("NCDHW", 0), **dict(zip(axes, index))}))] = plain[index]
    return stored


def from_stored(rng, name, plain):
    """(tensor of a dump, array that is expected)"""
    make, _ = STORED[name]
    axes, dtype = axes_of(plain, name), rng.choice(list(DTYPES))
    size, groups = sizes_of(rng, name, axes)
    c0 = {"NC1HWC0_C04": 4, "FRACTAL_ZN_LSTM": 16}.get(name) or rng.choice([4, 8, 16, 32])
    shape, place = make(size, c0, groups)
    text, stored = random_elements(rng, dtype, shape)
    expected = gathered(stored, place, axes, size)
    return tensor(dtype, NUMBERS[name], shape, text, expected.shape, groups if groups > 1 else 0), expected


def to_stored(rng, name, plain):
    make, _ = STORED[name]
    axes, dtype = axes_of(plain, name), rng.choice(list(DTYPES))
    size, groups = sizes_of(rng, name, axes)
    c0 = {"NC1HWC0_C04": 4, "FRACTAL_ZN_LSTM": 16}.get(name, device_c0(dtype))
    text, array = random_elements(rng, dtype, [size[axis] for axis in axes])
    shape, place = make(size, c0, groups)
    return (tensor(dtype, NUMBERS[plain], array.shape, text, array.shape if groups > 1 else None, groups if groups > 1 else 0),
            scattered(array, shape, place, axes))


def matrix_blocks(name, dtype, m0):
    fixed = name.rpartition("_C0_")[2]
    c0 = int(fixed) if fixed.isdigit() else dtype
    return (c0, c0) if name == "FRACTAL_ZZ" else (m0, c0)


def matrix_to_stored(name, array, m0, c0):
    h, w = array.shape[-2:]
    is_zz = name == "FRACTAL_ZZ"
    stored = np.zeros((*array.shape[:-2], *((cdiv(h, m0), cdiv(w, c0)) if is_zz else (cdiv(w, c0), cdiv(h, m0))), m0, c0), array.dtype)
    for *batch, y, x in np.ndindex(*array.shape):
        outer = (y // m0, x // c0) if is_zz else (x // c0, y // m0)
        stored[(*batch, *outer, y % m0, x % c0)] = array[(*batch, y, x)]
    return stored


def matrix_shape(rng, plain):
    rank = rng.choice([2, 3, 4]) if plain == "ND" else 4
    return tuple(rng.choice([1, 2, 3]) for _ in range(rank - 2)) + tuple(rng.choice([1, 5, 15, 16, 17, 32, 40]) for _ in "HW")


def from_matrix(rng, name, plain):
    dtype, shape = rng.choice(list(DTYPES)), matrix_shape(rng, plain)
    m0, c0 = matrix_blocks(name, rng.choice([8, 16, 32]), rng.choice([1, 16]))
    _, array = random_elements(rng, dtype, shape)
    stored = matrix_to_stored(name, array, m0, c0)
    return tensor(dtype, NUMBERS[name], stored.shape, packed(dtype, stored), shape), array


def from_vector(rng, name):
    """A dimension alone is a row, or a column where the blocks cannot be those of a row."""
    dtype, is_row = rng.choice(list(DTYPES)), rng.random() < 0.6
    m0, c0 = matrix_blocks(name, rng.choice([8, 16, 32]), 16)
    count = rng.choice([1, 5, 15, 16, 17, 32, 40]) if is_row else rng.choice([m0 + 1, 2 * m0, 2 * m0 + 3])
    _, array = random_elements(rng, dtype, (count,))
    stored = matrix_to_stored(name, array.reshape((1, count) if is_row else (count, 1)), m0, c0)
    return tensor(dtype, NUMBERS[name], stored.shape, packed(dtype, stored), (count,)), array


def to_matrix(rng, name, plain):
    dtype, shape = rng.choice(list(DTYPES)), matrix_shape(rng, plain)
    m0, c0 = matrix_blocks(name, device_c0(dtype), 16)
    text, array = random_elements(rng, dtype, shape)
    return tensor(dtype, NUMBERS[plain], shape, text), matrix_to_stored(name, array, m0, c0)


def opdump(folder, path, target):
    subprocess.run([os.environ["OPDUMP_BIN"], "convert", path, "-o", folder / "out", "--format", target], check=True,
                   stdout=subprocess.DEVNULL)
    return lambda i: next((folder / "out").rglob(f"*.output.{i}.npy"))


def msaccucmp(folder, path, target):
    subprocess.run([os.environ["OPDUMP_BIN"], "msaccucmp", "convert", "-d", path, "-out", folder / "out2", "-f", target], check=True,
                   stderr=subprocess.DEVNULL)
    return lambda i: next((folder / "out2").glob(f"*.output.{i}.*.npy"))


def check(folder, make, target, way=opdump):
    made = [make() for _ in range(COUNT)]
    path = dump_file(folder / "Op.op.1.2.1700000000000000", [one for one, _ in made])
    find = way(folder, path, target)
    for i, (text, expected) in enumerate(made):
        result = np.load(find(i))
        what = f"tensor {i}: {text[0].hex()}, expected shape {expected.shape}"
        assert result.dtype == expected.dtype and result.shape == expected.shape, f"{what}, got {result.dtype}{result.shape}"
        assert np.array_equal(result, expected), what


PAIRS = [(name, plain) for name, (_, plains) in STORED.items() for plain in plains]


@pytest.mark.parametrize("name, plain", PAIRS)
def test_blocks_to_plain(name, plain, tmp_path):
    rng = random.Random(f"{name} {plain}")
    check(tmp_path, lambda: from_stored(rng, name, plain), plain)


@pytest.mark.parametrize("name, plain", [pair for pair in PAIRS if pair[1] != "ND"])
def test_plain_to_blocks(name, plain, tmp_path):
    rng = random.Random(f"{plain} {name}")
    check(tmp_path, lambda: to_stored(rng, name, plain), name)


@pytest.mark.parametrize("name, plain", itertools.product(MATRICES, ["ND", "NCHW"]))
def test_matrices(name, plain, tmp_path):
    rng = random.Random(f"{name} {plain}")
    check(tmp_path, lambda: from_matrix(rng, name, plain), plain)
    if plain != "ND":
        check(tmp_path, lambda: to_matrix(rng, name, plain), name)


@pytest.mark.parametrize("name, plain", itertools.product(MATRICES, ["ND", "NCHW"]))
def test_vectors(name, plain, tmp_path):
    rng = random.Random(f"{name} vector {plain}")
    check(tmp_path, lambda: from_vector(rng, name), plain)


def test_a_vector_that_is_none(tmp_path):
    """Blocks that are those of no vector of that length stay as they are."""
    array = np.arange(2 * 3 * 16 * 16, dtype=np.float32).reshape(2, 3, 16, 16)
    padded = array.transpose(1, 2, 0, 3).reshape(48, 32)
    for count in (5, 33, 48, 49):
        path = dump_file(tmp_path / "Op.op.1.2.1700000000000000", [tensor(1, NUMBERS["FRACTAL_NZ"], array.shape, array.tobytes(), (count,))])
        assert np.array_equal(np.load(opdump(tmp_path / str(count), path, "ND")(0)), padded)


@pytest.mark.parametrize("one, other", [(a, b) for group in (FOUR, FIVE[:4]) for a, b in itertools.permutations(group, 2)])
def test_plain_to_plain(one, other, tmp_path):
    rng = random.Random(f"{one} {other}")

    def make():
        dtype = rng.choice(list(DTYPES))
        text, array = random_elements(rng, dtype, [rng.randint(1, 6) for _ in one])
        return tensor(dtype, NUMBERS[one], array.shape, text), array.transpose([one.index(axis) for axis in other])
    check(tmp_path, make, other)


ORIGINAL = {"NC1HWC0": FOUR[:3], "FRACTAL_Z": ["NCHW", "HWCN"], "NDC1HWC0": ["NCDHW", "ND"]}


@pytest.mark.parametrize("name, plain", [(name, plain) for name, plains in ORIGINAL.items() for plain in plains])
def test_the_original_pairs(name, plain, tmp_path):
    rng = random.Random(f"{name} {plain} msaccucmp")

    def make():
        while True:
            (text, data), expected = from_stored(rng, name, plain)
            if struct.unpack_from("<B", text, 1)[0] != 28:  # the original has no int4
                return (text, data), expected
    check(tmp_path, make, plain, msaccucmp)
