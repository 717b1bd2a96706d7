// The tables of a result, docs/formats/result.md. Names are those of the command line and of JSON; verdicts,
// methods and the like are texts, so that a later opdump can have more of them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "result/database.h"

namespace opdump::result {

// PRAGMA application_id holds this: "opdp".
inline constexpr int kApplicationId = 0x6f706470;
// PRAGMA user_version holds this. It increases when a column changes its meaning or is removed; tables and
// columns may be added at any time.
inline constexpr int kSchemaVersion = 4;

struct TableSchema {
  std::string_view name, columns;  // as CREATE TABLE has them
};

inline constexpr TableSchema kTables[] = {
    {"result", "key TEXT PRIMARY KEY, value"},
    {"runs",
     "side TEXT, rank INTEGER, path TEXT, state TEXT, run_id TEXT, runtime TEXT, opdump_version TEXT, "
     "config_path TEXT, pid INTEGER, started_us INTEGER, ended_us INTEGER, first_step INTEGER, "
     "last_step INTEGER, tail_step INTEGER, cut_step INTEGER, operators INTEGER, calls INTEGER, "
     "tensors INTEGER, bytes INTEGER, environment TEXT"},
    {"remarks", "kind TEXT, text TEXT"},
    {"culprits",
     "place INTEGER, operator INTEGER, slot TEXT, cause TEXT, confidence TEXT, removes REAL, text TEXT"},
    {"operators",
     "id INTEGER PRIMARY KEY, rank INTEGER, graph INTEGER, step INTEGER, phase TEXT, type TEXT, name TEXT, "
     "actual_name TEXT, module TEXT, source_file TEXT, source_line INTEGER, stack TEXT, verdict TEXT, "
     "sides TEXT, left_out TEXT, key_slot INTEGER, output_error, input_error"},
    {"slots",
     "id INTEGER PRIMARY KEY, operator INTEGER, name TEXT, side TEXT, position INTEGER, dtype TEXT, "
     "actual_dtype TEXT, shape TEXT, format TEXT, golden_file TEXT, actual_file TEXT, reason TEXT"},
    {"pairs",
     "slot INTEGER PRIMARY KEY, verdict TEXT, method TEXT, elements INTEGER, bytes INTEGER, "
     "mismatch_count INTEGER, nan_mismatch_count INTEGER, cosine, max_abs, max_rel, relative_l2, mean_abs, "
     "rmse, rtol REAL, atol REAL, worst_index INTEGER, worst_golden, worst_actual"},
    {"quantiles", "slot INTEGER, kind TEXT, share REAL, value"},
    {"worst", "slot INTEGER, place INTEGER, position TEXT, golden, actual"},
    {"thumbnails",
     "slot INTEGER, kind TEXT, rows INTEGER, columns INTEGER, across INTEGER, lowest, highest, data BLOB"},
    {"statistics",
     "slot INTEGER, side TEXT, count INTEGER, min, max, mean, l2, nan_count INTEGER, inf_count INTEGER, "
     "zero_count INTEGER, units INTEGER, dead_units INTEGER, fullness"},
    {"edges",
     "side TEXT, rank INTEGER, graph INTEGER, producer TEXT, producer_kind TEXT, output INTEGER, "
     "consumer TEXT, input INTEGER, dtype TEXT, shape TEXT"},
    {"arguments",
     "side TEXT, rank INTEGER, graph INTEGER, operator TEXT, position INTEGER, name TEXT, value TEXT"},
    {"sources", "file TEXT, line INTEGER, text TEXT"},
};

// Makes the tables of a new database.
Result<> create_tables(Database& database);
// Adds to a finished database what queries need.
Result<> create_indexes(Database& database);

// Opens a result for reading. Errors: as Database::open; corrupt -- it is no result, or its tables are not
// what they should be; unsupported -- of a later version.
Result<Database> open_result(const std::string& path);

// Whether a file begins as those of SQLite do.
bool looks_like_result(const std::string& path);

}  // namespace opdump::result
