#include "result/writer.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"
#include "base/version.h"
#include "compare/facts/unfinished.h"
#include "compare/key_slots.h"
#include "compare/measure/not_finite.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"
#include "compare/wiring/content.h"
#include "math/metrics/error_details.h"
#include "model/operator_traits.h"
#include "report/summary.h"
#include "result/dead_units.h"
#include "result/graph_tables.h"
#include "result/schema.h"

namespace opdump::result {
namespace {

using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

constexpr std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }

Value text_or_null(std::string_view text) {
  if (text.empty()) return std::monostate();
  return text;
}

std::string_view dtype_text(model::DType dtype) {
  return dtype == model::DType::undefined ? std::string_view() : model::dtype_info(dtype).name;
}

std::string stack_text(const dump::OperatorRun& run) {
  std::string text;
  if (run.op == nullptr) return text;
  for (const model::Frame& frame : run.op->stack)
    text += (text.empty() ? "" : "\n") + model::format_frame(frame);
  return text;
}

// NaN where it is no number.
double real_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? *real : std::numeric_limits<double>::quiet_NaN();
}

template <typename Number>
Blob bytes_of(const std::vector<Number>& numbers) {
  return std::as_bytes(std::span(numbers));
}

}  // namespace

// The statements and what was written with them so far.
class ResultWriter::Rows {
 public:
  Rows(Database made, WriterOptions with, std::filesystem::path temporary)
      : options(std::move(with)), partial(std::move(temporary)), database(std::move(made)) {}
  ~Rows() {
    statements.clear();
    update_errors.reset();
    std::error_code ignored;  // nothing can be done about a file that stays
    if (!partial.empty()) std::filesystem::remove(partial, ignored);
  }

  Result<> prepare() {
    OPDUMP_CHECK_OK(create_tables(database));
    OPDUMP_CHECK_OK(database.execute("BEGIN"));
    for (std::size_t i = 0; i < std::size(kTables); ++i) {
      const std::string columns(kTables[i].columns);
      std::string marks;
      for (const std::string_view column : split(columns, ','))
        marks += (column.empty() ? "" : marks.empty() ? "?" : ",?");
      OPDUMP_TRY(Statement statement,
                 database.prepare("INSERT INTO " + std::string(kTables[i].name) + " VALUES(" + marks + ")"));
      statements.push_back(std::move(statement));
    }
    return ok();
  }

  Result<> insert(std::string_view table, std::initializer_list<Value> values) {
    for (std::size_t i = 0; i < std::size(kTables); ++i)
      if (kTables[i].name == table) return statements[i].run(values);
    return Error(Code::internal, "no table " + std::string(table));
  }

  Result<> set(std::string_view key, Value value) { return insert("result", {key, value}); }

  // Its `operators.id`, if it was taken.
  Result<std::optional<std::int64_t>> find(const dump::OperatorRun& run);
  Result<> add_operator(const OperatorComparison& op, std::string_view verdict);
  Result<> add_slot(const SlotComparison& slot);
  Result<> add_pair(const SlotComparison& slot);
  Result<> add_details(const SlotComparison& slot);
  Result<> add_pictures(const math::ErrorDetails& details);
  void note_error(model::Side side, double scaled);
  Result<> keep_errors();
  // Returns what of it is not finite, where that is known.
  Result<std::optional<compare::NotFinite>> add_statistics(std::string_view side, const dump::Slot& slot,
                                                           bool may_be_dead);

  WriterOptions options;
  std::filesystem::path partial;  // until it has its name
  Database database;
  std::vector<Statement> statements;  // one for each of kTables; gone before the database
  std::optional<Statement> update_errors;
  Result<> state = ok();
  std::int64_t operators = 0, slots = 0;  // the numbers of the last ones
  std::size_t pictures = 0;
  // The operator in hand has these worst errors, by side and divided by the tolerance, if there is one.
  std::optional<double> worst[std::size(model::kSideNames)];
  GraphTables graph_tables;
};

Result<std::optional<std::int64_t>> ResultWriter::Rows::find(const dump::OperatorRun& run) {
  OPDUMP_TRY(
      Statement select,
      database.prepare("SELECT id FROM operators WHERE name = ? AND rank = ? AND step = ? AND graph = ?"));
  const Value key[] = {std::string_view(compare::operator_name(run)), std::int64_t{run.rank}, run.step,
                       run.graph_id};
  OPDUMP_CHECK_OK(select.bind(key));
  OPDUMP_TRY(const bool found, select.next());
  return found ? std::optional(select.integer(0)) : std::nullopt;
}

Result<> ResultWriter::Rows::add_operator(const OperatorComparison& op, std::string_view verdict) {
  const dump::OperatorRun& run = op.run();
  const std::string& name = compare::operator_name(run);
  const std::string actual = op.actual != nullptr ? compare::operator_name(*op.actual) : "";
  const std::string module = compare::module_of(run);
  const std::string stack = stack_text(run);
  const bool is_logged = run.op != nullptr;
  const SlotComparison* key = compare::key_slot(op);
  const std::int64_t key_slot = key != nullptr ? slots + 1 + (key - op.slots.data()) : 0;
  const std::string_view sides = op.golden == nullptr ? "actual" : op.actual == nullptr ? "golden" : "both";
  OPDUMP_CHECK_OK(
      insert("operators",
             {++operators, std::int64_t{run.rank}, run.graph_id, run.step,
              is_logged ? Value(model::kPhaseNames[static_cast<std::size_t>(run.op->phase)]) : Value(),
              std::string_view(run.type), std::string_view(name), text_or_null(actual),
              std::string_view(module), is_logged ? text_or_null(run.op->source_file) : Value(),
              is_logged && !run.op->source_file.empty() ? Value(std::int64_t{run.op->source_line}) : Value(),
              text_or_null(stack), text_or_null(verdict), sides, text_or_null(op.left_out),
              key_slot > 0 ? Value(key_slot) : Value(), Value(), Value()}));
  for (const SlotComparison& slot : op.slots) OPDUMP_CHECK_OK(add_slot(slot));
  return ok();
}

Result<> ResultWriter::Rows::add_slot(const SlotComparison& slot) {
  const dump::Slot& described = slot.golden != nullptr ? *slot.golden : *slot.actual;
  const std::string name = compare::slot_name(slot);
  const std::string shape = slot.shape ? model::format_shape(*slot.shape) : "";
  const std::string undumped = slot.reason.empty() ? described.undumped_reason : slot.reason;
  OPDUMP_CHECK_OK(insert(
      "slots",
      {++slots, operators, std::string_view(name),
       model::kSideNames[static_cast<std::size_t>(described.side)], std::int64_t{described.index},
       text_or_null(dtype_text(slot.dtype)),
       slot.actual != nullptr ? text_or_null(dtype_text(slot.actual->dtype)) : Value(), text_or_null(shape),
       text_or_null(described.format), slot.golden != nullptr ? text_or_null(slot.golden->file) : Value(),
       slot.actual != nullptr ? text_or_null(slot.actual->file) : Value(), text_or_null(undumped)}));
  return ok();
}

// NaN and infinity against something else are worst.
void ResultWriter::Rows::note_error(model::Side side, double scaled) {
  std::optional<double>& known = worst[static_cast<std::size_t>(side)];
  if (std::isnan(scaled)) scaled = std::numeric_limits<double>::infinity();
  known = std::max(known.value_or(0), scaled);
}

// Keeps the errors of the last operator.
Result<> ResultWriter::Rows::keep_errors() {
  const auto& input = worst[static_cast<std::size_t>(model::Side::input)];
  const auto& output = worst[static_cast<std::size_t>(model::Side::output)];
  if (!input && !output) return ok();
  if (!update_errors) {
    OPDUMP_TRY(Statement update,
               database.prepare("UPDATE operators SET output_error = ?, input_error = ? WHERE id = ?"));
    update_errors.emplace(std::move(update));
  }
  OPDUMP_CHECK_OK(
      update_errors->run({output ? Value(*output) : Value(), input ? Value(*input) : Value(), operators}));
  for (auto& side : worst) side.reset();
  return ok();
}

Result<> ResultWriter::Rows::add_pair(const SlotComparison& slot) {
  const math::Tolerance table = compare::default_tolerance(slot.dtype);
  const double rtol = options.rtol.value_or(table.rtol), atol = options.atol.value_or(table.atol);
  const std::string_view method = slot.metrics ? "elements" : slot.from_statistics ? "statistics" : "none";
  if (!slot.metrics)
    return insert("pairs", {slots,
                            compare::verdict_name(slot.verdict),
                            method,
                            {},
                            {},
                            {},
                            {},
                            {},
                            {},
                            {},
                            {},
                            {},
                            {},
                            rtol,
                            atol,
                            {},
                            {},
                            {}});
  const math::Metrics& m = *slot.metrics;
  const bool differs = m.mismatch_count > 0;
  OPDUMP_CHECK_OK(insert(
      "pairs", {slots, compare::verdict_name(slot.verdict), method, signed_of(m.count), signed_of(slot.bytes),
                signed_of(m.mismatch_count), signed_of(m.nan_mismatch_count), number(m.cosine),
                number(m.max_abs), number(m.max_rel), number(m.relative_l2), number(m.mean_abs),
                number(m.rmse), rtol, atol, differs ? Value(signed_of(m.max_abs_index)) : Value(),
                differs ? number(m.max_abs_golden) : Value(), differs ? number(m.max_abs_actual) : Value()}));
  if (m.max_abs > 0 || differs) return add_details(slot);
  note_error(compare::side_of(slot), 0);
  return ok();
}

// Elements that have no order have no details either.
Result<> ResultWriter::Rows::add_details(const SlotComparison& slot) {
  const math::Tolerance table = compare::default_tolerance(slot.dtype);
  const math::Tolerance tolerance{options.rtol.value_or(table.rtol), options.atol.value_or(table.atol)};
  OPDUMP_TRY(const dump::StoredTensor golden, dump::StoredTensor::read(*slot.golden, dump::Alignment::any));
  OPDUMP_TRY(const dump::StoredTensor actual, dump::StoredTensor::read(*slot.actual, dump::Alignment::any));
  const bool pictured = slot.verdict != Verdict::match && pictures < options.most_pictures;
  const auto details = math::examine_errors(actual.view(), golden.view(), tolerance, pictured);
  if (!details) return details.error().code() == Code::unsupported ? ok() : Result<>(details.error());
  if (!details->scaled.empty()) note_error(compare::side_of(slot), details->scaled.back().value);
  for (const auto& [kind, quantiles] :
       {std::pair("scaled", &details->scaled), std::pair("absolute", &details->absolute)})
    for (const math::ErrorQuantile& quantile : *quantiles)
      OPDUMP_CHECK_OK(
          insert("quantiles", {slots, std::string_view(kind), quantile.share, number(quantile.value)}));
  if (slot.verdict == Verdict::match) return ok();
  for (std::size_t i = 0; i < details->worst.size(); ++i) {
    const math::WorstElement& worst = details->worst[i];
    const std::string position = report::format_position(worst.index, golden.view().shape);
    OPDUMP_CHECK_OK(insert("worst", {slots, signed_of(i + 1), std::string_view(position),
                                     number(worst.golden), number(worst.actual)}));
  }
  if (!pictured) return ok();
  ++pictures;
  return add_pictures(*details);
}

Result<> ResultWriter::Rows::add_pictures(const math::ErrorDetails& details) {
  const math::ErrorMap& map = details.map;
  OPDUMP_CHECK_OK(insert("thumbnails", {slots,
                                        "difference",
                                        signed_of(map.rows),
                                        signed_of(map.columns),
                                        signed_of(map.across),
                                        {},
                                        {},
                                        bytes_of(map.cells)}));
  for (const math::ErrorProfile& profile : details.profiles) {
    const std::string kind = "axis." + std::to_string(profile.axis);
    OPDUMP_CHECK_OK(insert("thumbnails", {slots,
                                          std::string_view(kind),
                                          1,
                                          signed_of(profile.cells.size()),
                                          {},
                                          {},
                                          {},
                                          bytes_of(profile.cells)}));
  }
  if (details.planes) {
    std::string kind = "planes";
    const std::vector<std::size_t>& sizes = details.planes->sizes;
    for (std::size_t axis = 0; axis + 2 < sizes.size(); ++axis) kind += "." + std::to_string(sizes[axis]);
    OPDUMP_CHECK_OK(insert("thumbnails", {slots,
                                          std::string_view(kind),
                                          signed_of(sizes[sizes.size() - 2]),
                                          signed_of(sizes.back()),
                                          signed_of(sizes.size() - 1),
                                          {},
                                          number(details.planes->largest),
                                          bytes_of(details.planes->cells)}));
  }
  for (const auto& [kind, histogram] :
       {std::pair("golden", &details.golden), std::pair("actual", &details.actual)}) {
    const std::vector<std::uint64_t> counts(histogram->counts.begin(), histogram->counts.end());
    const std::string name = "histogram." + std::string(kind);
    OPDUMP_CHECK_OK(insert("thumbnails", {slots,
                                          std::string_view(name),
                                          1,
                                          signed_of(counts.size()),
                                          {},
                                          number(histogram->lowest),
                                          number(histogram->highest),
                                          bytes_of(counts)}));
  }
  constexpr auto kCells = signed_of(math::ErrorScatter::kCells);
  OPDUMP_CHECK_OK(insert("thumbnails", {slots,
                                        "scatter",
                                        kCells,
                                        kCells,
                                        {},
                                        number(details.golden.lowest),
                                        number(details.golden.highest),
                                        Blob(std::as_bytes(std::span(details.scatter.cells)))}));
  if (details.ulps)
    OPDUMP_CHECK_OK(insert("thumbnails", {slots,
                                          "ulps",
                                          1,
                                          signed_of(details.ulps->size()),
                                          {},
                                          {},
                                          {},
                                          Blob(std::as_bytes(std::span(*details.ulps)))}));
  if (details.not_finite.empty()) return ok();
  return insert("thumbnails", {slots,
                               "not_finite",
                               signed_of(map.rows),
                               signed_of(map.columns),
                               signed_of(map.across),
                               {},
                               {},
                               bytes_of(details.not_finite)});
}

// Of the dump, else of the elements.
Result<std::optional<compare::NotFinite>> ResultWriter::Rows::add_statistics(std::string_view side,
                                                                             const dump::Slot& slot,
                                                                             bool may_be_dead) {
  const auto tensor = slot.file.empty() ? Result<dump::StoredTensor>(Error(Code::not_found, ""))
                                        : dump::StoredTensor::read(slot, dump::Alignment::any);
  compare::Columns columns = slot.statistics.columns();
  if (tensor) {
    auto computed = compare::compute_columns(tensor->view(), slot.dtype, compare::all_columns());
    if (computed) columns = std::move(*computed);
  }
  if (columns.empty()) return std::optional<compare::NotFinite>();
  const auto find = [&](std::string_view name) -> Value {
    for (const auto& [column, text] : columns) {
      if (column != name) continue;
      const auto integer = parse_int64(text);
      if (integer) return *integer;
      const double real = std::strtod(text.c_str(), nullptr);
      return number(real);
    }
    return {};
  };
  const Value positive = find("Positive Inf Count"), negative = find("Negative Inf Count");
  const auto* more = std::get_if<std::int64_t>(&positive);
  const auto* less = std::get_if<std::int64_t>(&negative);
  std::optional<DeadUnits> units;
  if (tensor && may_be_dead) units = count_dead_units(tensor->view());
  Value fullness;  // of the range of the dtype
  const Value lowest = find("Min Value"), highest = find("Max Value");
  const auto limit = largest_finite(slot.dtype);
  if (more != nullptr && less != nullptr && *more + *less > 0)
    fullness = std::numeric_limits<double>::infinity();
  else if (const double size = std::max(std::abs(real_of(lowest)), std::abs(real_of(highest)));
           limit && std::isfinite(size))
    fullness = size / *limit;
  OPDUMP_CHECK_OK(insert(
      "statistics", {slots, side, find("Count"), lowest, highest, find("Avg Value"), find("L2Norm Value"),
                     find("NaN Count"), more != nullptr && less != nullptr ? Value(*more + *less) : Value(),
                     find("Zero Count"), units ? Value(signed_of(units->units)) : Value(),
                     units ? Value(signed_of(units->dead)) : Value(), fullness}));
  return compare::count_not_finite(columns);
}

Result<ResultWriter> ResultWriter::begin(WriterOptions options) {
  std::filesystem::path partial;
  if (!options.path.empty()) {
    partial = options.path + ".partial" + std::to_string(::getpid());
    std::error_code ignored;  // create() reports what is wrong
    std::filesystem::remove(partial, ignored);
  }
  OPDUMP_TRY(Database database, Database::create(partial.string()));
  ResultWriter writer(std::make_unique<Rows>(std::move(database), std::move(options), std::move(partial)));
  Rows& rows = *writer.rows_;
  OPDUMP_CHECK_OK(rows.prepare());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  OPDUMP_CHECK_OK(rows.set("command", text_or_null(rows.options.command)));
  OPDUMP_CHECK_OK(rows.set("golden", std::string_view(rows.options.golden)));
  OPDUMP_CHECK_OK(rows.set("actual", text_or_null(rows.options.actual)));
  OPDUMP_CHECK_OK(rows.set("opdump_version", std::string_view(kVersion)));
  OPDUMP_CHECK_OK(rows.set("created_us",
                           std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(now).count()}));
  return writer;
}

ResultWriter::ResultWriter(std::unique_ptr<Rows> rows) : rows_(std::move(rows)) {}
ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;
ResultWriter& ResultWriter::operator=(ResultWriter&&) noexcept = default;
ResultWriter::~ResultWriter() = default;

void ResultWriter::take(const OperatorComparison& op) {
  if (!rows_->state) return;
  const std::int64_t first = rows_->slots;
  rows_->state = rows_->add_operator(op, compare::verdict_name(op.verdict));
  if (!rows_->state) return;
  const std::int64_t last = rows_->slots;
  rows_->slots = first;
  for (const SlotComparison& slot : op.slots) {
    ++rows_->slots;
    if (slot.golden == nullptr || slot.actual == nullptr) continue;
    rows_->state = rows_->add_pair(slot);
    if (!rows_->state) return;
  }
  rows_->slots = last;
  rows_->state = rows_->keep_errors();
}

Result<> ResultWriter::take_dump(const dump::DumpSet& dump) {
  compare::NotFiniteSearch search;
  for (std::size_t i = 0; i < dump.runs().size(); ++i) {
    OperatorComparison op;
    op.golden = std::make_shared<const dump::OperatorRun>(dump.runs()[i]);
    for (const dump::Slot& slot : op.golden->slots) {
      SlotComparison& made = op.slots.emplace_back();
      made.golden = &slot;
      made.dtype = slot.dtype;
      made.shape = slot.shape;
      made.verdict = Verdict::match;
    }
    const std::int64_t first = rows_->slots;
    OPDUMP_CHECK_OK(rows_->add_operator(op, ""));
    rows_->slots = first;
    const bool is_forward_activation =
        model::has_trait(op.golden->type, model::Trait::activation) &&
        (op.golden->op == nullptr || op.golden->op->phase == model::Phase::forward);
    search.begin(i, compare::asks_for_infinity(op.golden->form.get()));
    for (const dump::Slot& slot : op.golden->slots) {
      ++rows_->slots;
      const bool may_be_dead = is_forward_activation && slot.side == model::Side::output;
      OPDUMP_TRY(const auto found, rows_->add_statistics("golden", slot, may_be_dead));
      search.take(slot.side, slot.index, found, compare::element_count_of(slot) == 1);
    }
    search.end();
  }
  return conclude_dump(dump, search);
}

// Kernels that saturate give the largest number of float16 where others give an infinity. False: there is
// none.
Result<bool> ResultWriter::conclude_saturated(const dump::DumpSet& dump) {
  for (std::size_t i = 0; i < dump.runs().size(); ++i) {
    const dump::OperatorRun run = dump.runs()[i];
    const dump::Slot* const slot = compare::saturated_output(run);
    if (slot == nullptr) continue;
    OPDUMP_TRY(const auto number, rows_->find(run));
    if (number) OPDUMP_CHECK_OK(rows_->set("first_bad", *number));
    const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
    OPDUMP_CHECK_OK(conclude("recorded", "first saturated result: " + compare::operator_name(run) +
                                             " (step " + std::to_string(run.step) + ")" +
                                             (source.empty() ? "" : " at " + source) + " — " +
                                             compare::describe_saturated(*slot)));
    return true;
  }
  return false;
}

// Which operator made the first NaN, or else the first infinity.
Result<> ResultWriter::conclude_dump(const dump::DumpSet& dump, const compare::NotFiniteSearch& search) {
  const bool has_nan = search.made_nan().has_value();
  const auto& first = has_nan ? search.made_nan() : search.made_infinity();
  if (!first) {
    if (search.nan() || search.outer_infinity())
      return conclude("recorded", "NaN or infinities come from outside of the recorded operators");
    OPDUMP_TRY(const bool is_saturated, conclude_saturated(dump));
    if (is_saturated) return ok();
    const std::string steps = compare::describe_unrecorded_steps(dump);
    return conclude("recorded", std::string("no NaN and no infinity") +
                                    (search.has_asked() ? " but those that arguments ask for," : "") +
                                    " in " +
                                    counted(static_cast<std::uint64_t>(rows_->operators), "execution") +
                                    (steps.empty() ? "" : "; " + steps));
  }
  const dump::OperatorRun run = dump.runs()[first->run];
  OPDUMP_TRY(const auto number, rows_->find(run));
  if (number) OPDUMP_CHECK_OK(rows_->set("first_bad", *number));
  const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
  const std::string why = has_nan ? compare::explain_nan(run) : std::string();
  return conclude("recorded", std::string("first ") + (has_nan ? "NaN" : "infinity") + ": " +
                                  compare::operator_name(run) + " (step " + std::to_string(run.step) + ")" +
                                  (source.empty() ? "" : " at " + source) + " — " +
                                  compare::describe_making(*first) + (why.empty() ? "" : "; " + why));
}

Result<> ResultWriter::describe(const dump::DumpSet& dump, std::string_view side) {
  const std::string path = dump.path().string();
  for (const auto& [rank, s] : dump.statuses()) {
    const std::string environment = json_text(nlohmann::json(s.environment));
    OPDUMP_CHECK_OK(rows_->insert("runs", {side,
                                           std::int64_t{rank},
                                           std::string_view(path),
                                           std::string_view(s.state),
                                           text_or_null(s.run_id),
                                           text_or_null(s.runtime),
                                           text_or_null(s.opdump_version),
                                           text_or_null(s.config_path),
                                           s.pid,
                                           signed_of(s.started_us),
                                           signed_of(s.ended_us),
                                           s.first_step,
                                           s.last_step,
                                           s.tail_step,
                                           s.cut_step,
                                           signed_of(s.operator_count),
                                           signed_of(s.call_count),
                                           signed_of(s.tensor_count),
                                           signed_of(s.tensor_bytes),
                                           std::string_view(environment)}));
    for (const std::string& warning : s.warnings) {
      const std::string text = std::string(side) + " rank " + std::to_string(rank) + ": " + warning;
      OPDUMP_CHECK_OK(rows_->insert("remarks", {"warning", std::string_view(text)}));
    }
  }
  if (dump.statuses().empty())
    OPDUMP_CHECK_OK(rows_->insert(
        "runs", {side, 0, std::string_view(path), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                 {},   {}}));
  const Insert insert = [&](std::string_view table, std::initializer_list<Value> values) {
    return rows_->insert(table, values);
  };
  return rows_->graph_tables.add(dump, side, insert);
}

Result<> ResultWriter::conclude(std::string_view outcome, std::string_view sentence) {
  OPDUMP_CHECK_OK(rows_->set("outcome", outcome));
  return rows_->set("conclusion", sentence);
}

Result<> ResultWriter::note_blame(std::string_view sentence, std::span<const BlamedOperator> culprits) {
  std::int64_t place = 0;
  for (const BlamedOperator& culprit : culprits) {
    OPDUMP_TRY(const std::optional<std::int64_t> id, rows_->find(*culprit.run));
    OPDUMP_CHECK_OK(rows_->insert(
        "culprits", {++place, id ? Value(*id) : Value(), culprit.slot, culprit.cause, culprit.confidence,
                     culprit.removes ? number(*culprit.removes) : Value(), std::string_view(culprit.text)}));
  }
  return rows_->set("blame", sentence);
}

Result<> ResultWriter::conclude(const compare::Comparison& comparison) {
  OPDUMP_CHECK_OK(std::exchange(rows_->state, ok()));
  const std::string sentence = report::conclusion(comparison), coverage = report::coverage_line(comparison);
  OPDUMP_CHECK_OK(conclude(compare::kOutcomeNames[static_cast<std::size_t>(comparison.outcome)], sentence));
  OPDUMP_CHECK_OK(rows_->set("coverage", std::string_view(coverage)));
  if (comparison.first_bad) {
    OPDUMP_TRY(const std::optional<std::int64_t> id, rows_->find(comparison.first_bad->run()));
    if (id) OPDUMP_CHECK_OK(rows_->set("first_bad", *id));
  }
  for (const std::string& text : comparison.incomplete)
    OPDUMP_CHECK_OK(rows_->insert("remarks", {"incomplete", std::string_view(text)}));
  for (const compare::Note& note : comparison.notes)
    OPDUMP_CHECK_OK(rows_->insert("remarks", {"note", std::string_view(note.text)}));
  return ok();
}

Result<Database> ResultWriter::finish() {
  Rows& rows = *rows_;
  OPDUMP_CHECK_OK(std::move(rows.state));
  rows.statements.clear();
  rows.update_errors.reset();
  OPDUMP_CHECK_OK(rows.database.execute("COMMIT"));
  OPDUMP_CHECK_OK(create_indexes(rows.database));
  if (rows.partial.empty()) return std::move(rows.database);
  OPDUMP_CHECK_OK(rows.database.close());
  std::error_code failed;
  std::filesystem::rename(rows.partial, rows.options.path, failed);
  if (failed) return Error(Code::io, rows.options.path + ": " + failed.message());
  rows.partial.clear();
  return open_result(rows.options.path);
}

}  // namespace opdump::result
