"""The pages of `opdump report` and `opdump view` in Chromium: on two recordings of the example, and on a result whose every
text is hostile. OPDUMP_IMAGES=FOLDER keeps the pictures of the pages there."""
import http.client
import json
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess
import urllib.parse
import zlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPDUMP = os.environ["OPDUMP_BIN"]
CHROMIUM = shutil.which("chromium")
HOSTILE = """</script><script>window.owned=1</script><img src=x onerror="window.owned=1">'";--><svg onload=window.owned=1>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")


@pytest.fixture(scope="module")
def packages():
    found = subprocess.run([ROOT / "tools/build_web.sh", "--packages"], capture_output=True, text=True)
    if found.returncode:
        pytest.skip(found.stderr.strip())
    return pathlib.Path(found.stdout.strip()) / "node_modules"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    for run, fault in (("golden", "none"), ("actual", "epsilon")):
        subprocess.run([OPDUMP, "run", "--config", "examples/digits/data_dump.json", "--", "/usr/bin/python3",
                        "examples/digits/train.py", "--steps", "3", "--fault", fault], cwd=ROOT, check=True,
                       env={**os.environ, "DUMP_DIR": str(folder / run)}, capture_output=True)
    return folder


def opdump(*words, cwd, status=(0, 1)):
    done = subprocess.run([OPDUMP, *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode in status, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def page(recordings):
    opdump("compare", "golden", "actual", "--save", "run.opdump", cwd=recordings)
    told = opdump("report", "run.opdump", "-o", "report.html", cwd=recordings)
    assert told.startswith("first bad operator: Default/norm2-BatchNorm2d/native_batch_norm-op0")
    environments = opdump("query", "run.opdump", "SELECT environment FROM runs WHERE side = 'actual'", "--json", cwd=recordings)
    actual = json.loads(json.loads(environments)["environment"])
    assert actual["command"].endswith("examples/digits/train.py --steps 3 --fault epsilon") and int(actual["seed"]) >= 0
    return recordings / "report.html"


def look(scenario, address, packages, folder):
    done = subprocess.run(["node", HERE / "pages.cjs", scenario, str(address), str(folder)], text=True, capture_output=True,
                          timeout=300, env={**os.environ, "NODE_PATH": str(packages), "CHROMIUM": CHROMIUM})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_looks(page, packages, tmp_path):
    images = pathlib.Path(os.environ.get("OPDUMP_IMAGES", tmp_path))
    images.mkdir(exist_ok=True)
    assert page.stat().st_size <= 5_000_000
    for view, found in look("looks", page.as_uri(), packages, images.resolve()).items():
        assert found["errors"] == [], view
        assert found["wider"] <= 0, view
        assert found["nameless"] == [], view
        assert found["faint"] == [] and found["violations"] == [], view
        assert [url for url in found["requests"] if not url.startswith(("file:", "data:"))] == [], view
        assert found["bytes"] > 50_000, view  # not an empty page


def test_what_is_drawn_before_the_first_frame(page, packages, tmp_path):
    found = look("still", page.as_uri(), packages, tmp_path)
    assert found["colours"] > 20 and found["width"] > 500
    assert found["loaded"] == 1 and found["frames"] == 0  # what is printed at the load event is whole
    assert found["maps"] and [name for name, colours in found["maps"] if colours < 2] == []


def test_a_narrow_screen(page, packages, tmp_path):
    found = look("narrow", page.as_uri(), packages, tmp_path)
    assert (found["links"], found["columns"], found["hidden"]) == (0, 0, 0) and found["rows"] == 20, found


def test_labels_of_the_curve_hide_no_other(page, packages, tmp_path):
    found = look("labels", page.as_uri(), packages, tmp_path)
    assert (found["meet"], found["cut"]) == ([], []) and found["limits"] == ["tolerance", "tolerance × 100"], found
    assert found["total"] > 200 and found["named"] == 2 * len(range(0, found["total"], 5)), found


def test_works(page, packages, tmp_path):
    found = look("works", page.as_uri(), packages, tmp_path)
    assert found["errors"] == []
    assert found["heading"] == "First bad operator: Default/norm2-BatchNorm2d/native_batch_norm-op0"
    assert re.fullmatch(r"eps is 1e-05 in golden and 0\.001 in actual; output\.0 differs in [\d,]+ of 262,144 elements "
                        r"\(.*%\), most at \(\d+,\d+,\d,\d\): .* in golden, .* in actual\.", found["lead"])
    assert found["chosen"] == "Default/norm2-BatchNorm2d/native_batch_norm-op0"
    total = int(re.match(r"(\d+) of (\d+) operators", found["all"])[2])
    assert total > 200 and found["drawn"] < 60  # only rows in view exist
    assert re.match(rf"4 of {total} operators", found["filtered"])
    assert "addmm" in found["opened"] and "classifier" in found["opened"]
    assert found["csv"][0].startswith("phase,source,verdict,step,name") and len(found["csv"]) == 6
    assert re.match(r"\d{2,} operators differ", found["judged"])
    assert re.match(r"Judged again: (\d+) operators? would differ", found["tolerant"])
    assert "tolerance=6" in found["address"] and found["shared"] == found["tolerant"]
    assert found["largest"] > 0
    assert "in Default" in found["module"] and found["walked"]
    assert found["planes"][0] == 2 and found["bars"] == [64, 64, 8, 8]
    assert "the cross marks the worst element" in found["planes"][1] and re.search(r"at 0( to \d+)?, ", found["planes"][2])
    assert found["theme"] == "dark"
    assert found["printed"] > 20_000


def test_a_culprit_is_the_heading(page, packages, tmp_path):
    run = tmp_path / "blamed.opdump"
    shutil.copy(page.parent / "run.opdump", run)
    with sqlite3.connect(run) as database:  # as opdump blame writes it
        names = [database.execute("SELECT id, name FROM operators WHERE verdict = ? ORDER BY id LIMIT 1", (verdict,)).fetchone()
                 for verdict in ("inherited", "argument_differs")]
        database.execute("INSERT INTO result VALUES('blame', 'culprit (certain): ...')")
        database.executemany("INSERT INTO culprits VALUES(?, ?, 'output.0', ?, ?, ?, ?)", [
            (1, names[0][0], "own_error", "certain", 0.75, "computes a wrong output.0: why"),
            (2, names[1][0], "argument", "suspect", 0.25, "has other arguments: eps")])
    opdump("report", run, "-o", "blamed.html", cwd=tmp_path)
    found = look("culprits", (tmp_path / "blamed.html").as_uri(), packages, tmp_path)
    assert found["errors"] == [] and found["violations"] == []
    assert found["heading"] == f"Culprit: {names[0][1]}" and found["chosen"] == names[0][1]
    assert found["lead"] == "Certain: it computes a wrong output.0: why; without it, 75 % of the final error is gone."
    assert found["others"] == [f"{names[1][1]} step 0\nSuspect: it has other arguments: eps; without it, 25 % of the final error is gone."]
    assert found["opened"] == names[1][1]


def test_hostile_texts_stay_texts(page, packages, tmp_path):
    run = tmp_path / "hostile.opdump"
    shutil.copy(page.parent / "run.opdump", run)
    with sqlite3.connect(run) as database:
        for table, column in (("operators", "name"), ("operators", "module"), ("operators", "type"), ("operators", "stack"),
                              ("operators", "actual_name"), ("operators", "source_file"), ("operators", "phase"),
                              ("operators", "left_out"), ("slots", "name"), ("slots", "shape"), ("slots", "reason"),
                              ("slots", "dtype"), ("runs", "runtime"), ("runs", "state"), ("sources", "text"),
                              ("arguments", "name"), ("arguments", "value"), ("edges", "producer"), ("edges", "consumer"),
                              ("edges", "shape"), ("worst", "position"), ("operators", "verdict"), ("pairs", "verdict")):
            database.execute(f"UPDATE {table} SET {column} = ?", (HOSTILE,))
        database.execute("INSERT INTO culprits VALUES(1, 66, ?1, ?1, ?1, 0.5, ?1), (2, 67, ?1, ?1, ?1, 0.5, ?1)", (HOSTILE,))
        database.execute("UPDATE operators SET name = name || id, module = 'm/' || module")
        database.execute("UPDATE arguments SET operator = (SELECT name FROM operators WHERE id = 66)")
        database.execute("UPDATE result SET value = ? WHERE key IN ('golden', 'actual', 'command', 'coverage', 'conclusion')", (HOSTILE,))
        database.execute("INSERT INTO result VALUES('blame', ?)", (HOSTILE,))
        database.execute("INSERT INTO remarks VALUES ('note', ?), ('incomplete', ?)", (HOSTILE, HOSTILE))
        database.execute("DELETE FROM operators WHERE id NOT BETWEEN 60 AND 72")
    opdump("report", run, "-o", "hostile.html", cwd=tmp_path)
    text = (tmp_path / "hostile.html").read_text()
    assert HOSTILE not in text
    found = look("hostile", (tmp_path / "hostile.html").as_uri(), packages, tmp_path)
    assert found["errors"] == []
    assert found["foreign"] == {"images": 0, "frames": 0, "scripts": 2, "owned": False, "handlers": 0}
    assert HOSTILE in found["heading"]


def test_one_dump(recordings, packages, tmp_path):
    told = opdump("report", recordings / "golden", "-o", "one.html", cwd=tmp_path)
    assert told.startswith("no NaN and no infinity in ")
    for found in look("looks", (tmp_path / "one.html").as_uri(), packages, tmp_path).values():
        assert found["errors"] == [] and found["nameless"] == [] and found["wider"] <= 0 and found["violations"] == []
    opdump("index", recordings / "golden", "-o", "one.opdump", cwd=tmp_path)
    with sqlite3.connect(tmp_path / "one.opdump") as database:
        database.execute("UPDATE statistics SET fullness = 0.75 WHERE slot = (SELECT max(id) FROM slots WHERE side = 'output')")
        dead = database.execute("SELECT max(dead_units), units FROM statistics").fetchone()
    assert dead[0] > 0 and dead[1] == 128  # of the hidden layer
    opdump("report", "one.opdump", "-o", "one.html", cwd=tmp_path)
    found = look("health", (tmp_path / "one.html").as_uri(), packages, tmp_path)
    assert found["errors"] == [] and "75.0 %" in found["text"]
    assert f"{dead[0]} of 128" in found["text"] and "relu" in found["opened"]


@pytest.fixture
def server(recordings):
    process = subprocess.Popen([OPDUMP, "view", "golden", "actual", "--no-browser"], cwd=recordings, text=True,
                               stdout=subprocess.PIPE)
    address = process.stdout.readline().removeprefix("serving ").strip()
    yield urllib.parse.urlsplit(address)
    process.terminate()
    process.wait(10)


def ask(server, path, host=None):
    connection = http.client.HTTPConnection(server.hostname, server.port, timeout=60)
    connection.request("GET", path, headers={"Host": host or server.netloc})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_view(server, packages, tmp_path):
    assert server.hostname == "127.0.0.1" and len(server.query) > 30
    images = pathlib.Path(os.environ.get("OPDUMP_IMAGES", tmp_path))
    found = look("served", server.geturl(), packages, images.resolve())
    assert found["errors"] == []
    assert all(url.startswith((f"http://{server.netloc}/", "data:")) for url in found["requests"])
    assert "of 4,096" in found["before"] and found["after"] != found["before"] and found["numbers"] > 0
    image, channel, *_ = found["worst"]
    row = (image * 64 + channel) * 8  # of (64,64,8,8)
    assert found["plane"] == [3, row, 8, 8] and found["sliders"] == 2
    assert found["next"][1] in (row + 8, row)  # the last one has no next
    assert "plane=" in found["address"]


def test_large_results_come_part_by_part(packages, tmp_path):
    run = tmp_path / "large.opdump"
    subprocess.run(["/usr/bin/python3", ROOT / "bench/large_result.py", OPDUMP, run, "12000"], check=True)
    process = subprocess.Popen([OPDUMP, "view", run, "--no-browser"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        address = process.stdout.readline().removeprefix("serving ").strip()
        server = urllib.parse.urlsplit(address)
        first = json.loads(zlib.decompress(ask(server, f"/api/data?{server.query}")[1]))
        assert first["total_operators"] == 12000 and len(first["operators"]["id"]) < 500
        lines = first["overview"]["lines"]
        assert len(lines) == 8 and all(len(line["points"]) == 1000 for line in lines)
        with sqlite3.connect(run) as database:
            worst = database.execute("SELECT max(output_error) FROM operators").fetchone()[0]
            own = database.execute("SELECT count(*) FROM operators WHERE verdict = 'own_error'").fetchone()[0]
        assert max(point[2] for line in lines for point in line["points"]) == pytest.approx(worst, rel=1e-6)
        for path in ("/api/rows?sort=no&count=-5&offset=-1", "/api/rows?step=x&tolerance=nan", "/api/operator?id=0", "/api/modules?within=%27%22",
                     "/api/curve?begin=-1&end=99999999999999999999"):
            assert ask(server, f"{path}&{server.query}")[0] in (200, 404), path
        part = json.loads(ask(server, f"/api/curve?begin=100&end=300&{server.query}")[1])
        assert all([point[1] for point in line["points"]] == list(range(100, 300)) for line in part)
        found = look("large", address, packages, tmp_path)
    finally:
        process.terminate()
        process.wait(10)
    # The dumps of this result do not exist: their elements are asked for in vain.
    assert [error for error in found["errors"] if "404 (Not Found)" not in error] == []
    assert found["faint"] == [] and found["nameless"] == []
    assert found["all"].startswith("12,000 of 12,000 operators") and found["opened"] != found["chosen"]
    assert found["filtered"] == f"{own:,}" and set(found["rows"]) == {"own error"}
    assert found["graph"] > 1
    assert found["judged"].startswith("Judged again: ")
    assert found["closer"]
    assert found["modules"][1] > found["modules"][0] and "in " in found["module"]


def read_tile(body):
    """A line of JSON, and behind it float64 for each side."""
    head, _, rest = body.partition(b"\n")
    tile = json.loads(head)
    cells = tile["height"] * tile["width"]
    assert len(rest) == 8 * cells * len(tile["sides"])
    for i, side in enumerate(tile["sides"]):
        tile[side] = struct.unpack(f"<{cells}d", rest[8 * cells * i:8 * cells * (i + 1)])
    return tile


def test_pictures_of_large_tensors_lose_nothing(tmp_path):
    """9 million elements with one that differs; each picture closer to it has it, down to the number itself."""
    make = """if True:
        import numpy as np, pathlib
        for side in "golden", "actual":
            folder = pathlib.Path(side, "rank_0", "net", "0", "0")
            folder.mkdir(parents=True)
            values = np.ones((3000, 3001), np.float32)
            values[1, 2] = -7
            if side == "actual": values[1234, 2345] += 0.25
            np.save(folder / "Add.Default_Add-op0.0.0.1000.output.0.DefaultFormat.npy", values)
    """
    subprocess.run(["/usr/bin/python3", "-c", make], cwd=tmp_path, check=True)
    name = opdump("ls", "golden", "--flat", "--json", cwd=tmp_path).splitlines()[0]
    operator = urllib.parse.quote(json.loads(name)["operator"])
    process = subprocess.Popen([OPDUMP, "view", "golden", "actual", "--no-browser"], cwd=tmp_path, text=True, stdout=subprocess.PIPE)
    try:
        server = urllib.parse.urlsplit(process.stdout.readline().removeprefix("serving ").strip())
        part = {"row": 0, "column": 0, "rows": 0, "columns": 0}
        for _ in range(12):
            query = urllib.parse.urlencode(part)
            status, body = ask(server, f"/api/tile?{server.query}&golden={operator}&actual={operator}&slot=output.0&step=0&across=1&{query}")
            assert status == 200, body
            tile = read_tile(body)
            assert (tile["rows"], tile["columns"]) == (3000, 3001) and tile["height"] <= 256 and tile["width"] <= 256
            at = max(range(len(tile["difference"])), key=lambda i: abs(tile["difference"][i]))
            assert tile["difference"][at] == 0.25 and tile["actual"][at] in (1.25, -7.0)
            if part["rows"] == 0:
                assert min(tile["golden"]) == -7
            if tile["shown_rows"] == tile["shown_columns"] == 1:
                break
            row, column = divmod(at, tile["width"])
            rows, columns = (max(1, tile["shown_rows"] // 8), max(1, tile["shown_columns"] // 8))
            row = tile["row"] + row * tile["shown_rows"] // tile["height"]
            column = tile["column"] + column * tile["shown_columns"] // tile["width"]
            part = {"row": max(0, min(row - rows // 2, 3000 - rows)), "column": max(0, min(column - columns // 2, 3001 - columns)), "rows": rows, "columns": columns}
        assert (tile["row"], tile["column"]) == (1234, 2345)
    finally:
        process.terminate()
        process.wait(10)


def test_view_is_for_who_has_the_token(server):
    token = server.query
    assert ask(server, f"/?{token}")[0] == 200
    assert ask(server, "/")[0] == 403
    assert ask(server, "/api/data?token=")[0] == 403
    assert ask(server, f"/api/data?{token[:-1]}0{'x'}")[0] == 403
    assert ask(server, f"/?{token}", host="evil.example")[0] == 403
    for path in ("/etc/passwd", "/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/../api/file"):
        assert ask(server, f"{path}?{token}")[0] in (400, 404), path
    tile = f"/api/tile?{token}&golden={{}}&actual={{}}&slot=output.0&step=0&across=2"
    assert ask(server, tile.format("/etc/passwd", "/etc/passwd"))[0] == 404
    name = urllib.parse.quote("Default/norm2-BatchNorm2d/native_batch_norm-op0")
    status, body = ask(server, tile.format(name, name))
    worst = max(map(abs, read_tile(body)["difference"]))
    assert status == 200 and worst == pytest.approx(0.0367, abs=0.002)  # no picture loses the worst element
    assert ask(server, tile.format(name, name) + "&row=99999999")[0] == 400
