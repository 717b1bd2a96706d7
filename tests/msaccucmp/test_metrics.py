"""The ten numbers that `opdump msaccucmp compare` prints for two arrays against the same formulas in NumPy."""
import warnings

import pytest
from conftest import msaccucmp

np = pytest.importorskip("numpy")
EPSILON = 2.0 ** -52
SIZES = (1, 2, 8, 9, 127, 128, 129, 1000, 4097, 8193, 20011)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
# NumPy's logarithm without fused multiplication is another one.
HAS_OUR_LOGARITHM = np.log(np.array([0x3F3504F4], np.uint32).view(np.float32)).view(np.uint32)[0] == 0xBEB17215


def text(value):
    return "%.6f" % value


def cosine(a, b):
    norms = [np.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b)]
    if all(norm[0] <= EPSILON for norm in norms):
        return "1.0"
    if any(np.sqrt(norm[0]) <= EPSILON for norm in norms):
        return "NaN"
    total = (a / norms[0] * (b / norms[1])).sum()
    return text(1 if total > 1 else total)


def divergence(*sides):
    weights = []
    for x in sides:
        spread = x.max() - x.min()
        x = np.maximum((x - x.min()) / spread if spread != 0 else x, np.finfo(np.float32).eps)
        weights.append(x / x.sum())
    total = (weights[0] * np.log(weights[0] / weights[1])).sum()
    return text(0 if abs(total) < EPSILON else total)


def spread_of(x):
    values = np.mean(x, dtype=np.float64), np.std(x, dtype=np.float64)
    return "(%.3f;%.3f)" % tuple(0 if abs(value) < 0.001 else value for value in values)


def expected(a, b):
    is_scalar, is_bool = a.size == 1, a.dtype == b.dtype == bool
    a, b = (x.ravel() if is_bool else x.ravel().astype(np.float32) for x in (a, b))
    first = "1.000000" if is_scalar else cosine(a, b)
    if is_bool:
        return [first, "NaN", "NaN", "NaN" if b.any() else "0.000000"] + ["NaN"] * 6
    d, r = a - b, np.where(np.abs(b) > EPSILON, np.abs(a / b - 1), np.float32(0))
    euclidean = np.sqrt((d ** 2).sum() / (b ** 2).sum()) if not np.linalg.norm(b) <= EPSILON else 0
    return [first, text(np.abs(d).max()), text(r.sum()), text(euclidean), divergence(a, b), f"{spread_of(a)},{spread_of(b)}",
            text(np.abs(d).mean()), text(np.sqrt((d ** 2).mean())), text(r.max()), text(r.mean())]


def make(kind, size, random):
    if kind in INTEGERS:
        limits = np.iinfo(kind)
        return random.choice([limits.min, limits.max, 0, 1, 7], size).astype(kind) if size % 2 else random.integers(
            limits.min, limits.max, size, kind, True)
    plain = random.standard_normal(size)
    if kind == "special":
        plain[random.integers(size)] = random.choice([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38])
    return {"bool": plain > 0, "zeros": plain * 0, "constant": plain * 0 + 2.5, "negative": -np.abs(plain), "tiny": plain * 1e-42,
            "huge": plain * 1e20, "largest": plain * 3e38, "overflowing": plain * 1e200, "complex64": plain - 1j * plain
            }.get(kind, plain).astype({"bool": bool, "overflowing": float, "float64": float, "float16": np.float16,
                                       "complex64": np.complex64}.get(kind, np.float32))


KINDS = (*INTEGERS, "bool", "float16", "float32", "float64", "complex64", "zeros", "constant", "negative", "tiny", "huge",
         "largest", "overflowing", "special")


@pytest.mark.parametrize("kind", KINDS)
def test_pairs(kind, tmp_path):
    random = np.random.default_rng(KINDS.index(kind))
    for size in SIZES:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            a = make(kind, size, random)
            near = (a.astype(np.float32) * (1 + 1e-3 * random.standard_normal(size))).astype(np.float32)
            for b in (a, make(kind, size, random), make(random.choice(KINDS), size, random), near):
                np.save(tmp_path / "a.npy", a)
                np.save(tmp_path / "b.npy", b)
                lines = msaccucmp("compare", "-m", tmp_path / "a.npy", "-g", tmp_path / "b.npy").stderr.splitlines()
                [at] = [i for i, line in enumerate(lines) if "] CosineSimilarity " in line]
                pairs = list(zip(lines[at + 1].split("] ")[1].split(), expected(a, b)))
                if not HAS_OUR_LOGARITHM:
                    del pairs[4]
                assert [ours for ours, _ in pairs] == [theirs for _, theirs in pairs], (size, b.dtype)


@pytest.mark.parametrize("dtype", (">f2", ">f4", ">f8", ">i8", ">c8"))
def test_the_other_byte_order(dtype, tmp_path):
    array = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    for name, each in (("big", array), ("columns", np.asfortranarray(array)), ("little", array.astype(dtype.replace(">", "<")))):
        np.save(tmp_path / f"{name}.npy", each)
    for name in ("big", "columns"):
        done = msaccucmp("compare", "-m", tmp_path / f"{name}.npy", "-g", tmp_path / "little.npy", "-alg", "1,5")
        assert done.returncode == 0 and " 0.000000         (-0.500;3.452),(-0.500;3.452)" in done.stderr, done.stderr
    whole = (tmp_path / "big.npy").read_bytes()
    (tmp_path / "big.npy").write_bytes(whole[:-1])
    assert msaccucmp("compare", "-m", tmp_path / "big.npy", "-g", tmp_path / "little.npy").returncode == 11


def test_a_divergence_that_is_infinite(tmp_path):
    """Equal numbers whose sum is more than float32 holds are divided by it to 0."""
    np.save(tmp_path / "a.npy", np.arange(4, dtype=np.float32))
    np.save(tmp_path / "b.npy", np.full(4, 3e38, np.float32))
    done = msaccucmp("compare", "-m", tmp_path / "a.npy", "-g", tmp_path / "b.npy", "-alg", "4")
    assert done.returncode == 0 and "[INFO] inf " in done.stderr
    assert f"The data contains 0 in '{tmp_path}/b.npy'." in done.stderr
