#include "network.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <system_error>

#include "attributes.h"
#include "dtypes.h"
#include "failure.h"
#include "origin.h"
#include "rewrite.h"

namespace opdump::onnx {
namespace {

namespace fs = std::filesystem;

// A folder for one file, removed with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "opdump-onnx-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw Failure(pattern + ": cannot be made", OPDUMP_ERROR_IO);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;  // left in the temporary directory, it harms nobody
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || bytes.empty()) throw Failure(path.string() + ": ONNX Runtime wrote no model there");
  return bytes;
}

constexpr const char* kNoTask = "no task";
constexpr const char* kBlocked = "blocked layout";

bool is_model_output(const ModelFile& model, std::string_view name) {
  return std::ranges::find(model.outputs, name, &NamedValue::name) != model.outputs.end();
}

}  // namespace

Network::Network(std::string bytes, NetworkOptions options)
    : runtime_(Runtime::load()), options_(std::move(options)) {
  adopt(std::move(bytes), options_.folder);
  if (model_.calls_functions()) inline_functions();
  if (options_.as_executed)
    take_optimized();
  else
    note_own_blocks();
}

// Everything points into the bytes of the model, and more outputs are added behind them: they must not move.
void Network::adopt(std::string bytes, fs::path folder) {
  bytes.reserve(bytes.size() + max_more_outputs_bytes(read_model(bytes)));
  bytes_ = std::move(bytes);
  model_ = read_model(bytes_);
  initializers_ = std::make_unique<Initializers>(model_, std::move(folder));
  initializers_->check();
  constants_.clear();
  input_names_.clear();
  for (const NamedValue& input : model_.inputs) input_names_.emplace_back(input.name);
}

// The graph that ONNX Runtime makes of the model.
std::string Network::rewrite(ort::OptimizationLevel level) {
  const ScratchFolder scratch;
  const fs::path path = scratch.path() / "optimized.onnx";
  std::vector<std::string_view> all;
  for (const StoredTensor& tensor : model_.initializers) all.push_back(tensor.name);
  EngineOptions options = engine_options(all);
  options.level = level;
  options.save_optimized = path.string();
  const Engine engine(runtime_, bytes_, options);
  return read_all(path);
}

// Puts the operators of functions that the file defines into the place of their calls, as ONNX Runtime does
// before it runs them.
void Network::inline_functions() {
  std::string reason = "this ONNX Runtime does not inline them";
  try {
    adopt(rewrite(ort::kNone), {});
  } catch (const Failure& failure) {  // more than the 2 GiB of a file
    reason = failure.what();
  }
  if (model_.calls_functions() && options_.log)
    options_.log(OPDUMP_LOG_WARNING, "operators inside the functions of model " + model_.graph_name +
                                         " are not recorded: " + reason);
}

// Puts the graph that ONNX Runtime executes into the place of the model.
void Network::take_optimized() {
  std::string optimized = rewrite(ort::kAll);
  const ModelFile file = read_model(optimized);
  original_names_ = find_original_names(model_, file);
  note_blocked(file, original_names_);
  adopt(std::move(optimized), {});
}

// What of `optimized` lies in blocks. How many channels a value has follows from the operators that made it,
// up to those that bring one into blocks: what these read, ONNX Runtime is asked.
void Network::note_blocked(const ModelFile& optimized, const std::vector<std::vector<std::string>>& names) {
  if (!has_blocks(optimized)) return;
  block_ = find_block(runtime_);
  std::vector<std::string_view> asked;
  std::map<std::string, std::int64_t, std::less<>> channels;
  const auto note = [&](const auto& value) {
    if (value.dims.size() > 1) channels[std::string(value.name)] = value.dims[1];
  };
  for (const NamedValue& input : model_.inputs) note(input);
  for (const std::string_view value : find_reordered(optimized))
    if (model_.producers.contains(value) && std::ranges::find(asked, value) == asked.end())
      asked.push_back(value);
  for (const ExpectedOutput& output : find_types(asked)) note(output);
  blocked_ =
      find_blocked(model_, optimized, names, std::max<std::size_t>(block_, 1), [&](std::string_view value) {
        const auto known = channels.find(value);
        return known == channels.end() ? -1 : known->second;
      });
}

// Of a file that ONNX Runtime saved after optimizing the model. How many channels fill up the last block is
// not known then.
void Network::note_own_blocks() {
  std::vector<std::vector<std::string>> names;
  for (const Node& node : model_.nodes) names.push_back({std::string(node.name)});
  note_blocked(model_, names);
}

// Of values that operators make.
std::vector<ExpectedOutput> Network::find_types(std::span<const std::string_view> values) {
  if (values.empty()) return {};
  const std::vector<std::size_t> nodes = find_ancestors(model_, model_.nodes.size(), values);
  const std::string part = encode_part(model_, nodes, values);
  std::vector<std::string_view> used;
  const ModelFile file = read_model(part);
  for (const StoredTensor& tensor : file.initializers) used.push_back(tensor.name);
  return Engine(runtime_, part, engine_options(used)).find_outputs();
}

std::optional<std::size_t> Network::find_node(std::string_view name) const {
  const auto found = std::ranges::find(model_.nodes, name, &Node::name);
  if (found == model_.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - model_.nodes.begin());
}

std::span<const std::string> Network::original_names(std::size_t node) const {
  if (!options_.as_executed) return {};
  return original_names_[node];
}

ExpectedOutput Network::find_type(std::string_view value) {
  ExpectedOutput found{std::string(value), true, 0, {}, {}};
  if (const auto known = model_.initializer_of.find(value); known != model_.initializer_of.end()) {
    found.element_type = model_.initializers[known->second].element_type;
    found.dims = model_.initializers[known->second].dims;
    return found;
  }
  const auto input = std::ranges::find(model_.inputs, value, &NamedValue::name);
  if (input != model_.inputs.end())
    return {found.name, input->is_tensor, input->element_type, input->dims, {}};
  const auto maker = model_.producers.find(value);
  if (maker == model_.producers.end()) throw Failure("the model has no value " + found.name);
  const std::lock_guard lock(mutex_);
  std::vector<ExpectedOutput> outputs = find_types({&value, 1});
  return outputs.empty() ? found : std::move(outputs.front());
}

const Tensor& Network::constant(std::size_t initializer) {
  Tensor& tensor = constants_[initializer];
  if (tensor.element_type != 0) return tensor;
  const StoredTensor& stored = model_.initializers[initializer];
  const ElementType& type = element_type(stored.element_type);
  tensor.element_type = stored.element_type;
  tensor.dtype = type.ours;
  tensor.dims = stored.dims;
  if (type.bits == 0) {
    tensor.undumped = type.name;
    return tensor;
  }
  const std::span<const std::byte> data = initializers_->find(initializer);
  tensor.data = data.data();
  tensor.bytes = data.size();
  tensor.content = next_content();
  return tensor;
}

// ONNX Runtime gets initializers from us that lie in other files: it does not know where the model lies.
EngineOptions Network::engine_options(std::span<const std::string_view> initializers) {
  EngineOptions options;
  options.threads = options_.threads;
  for (const std::string_view name : initializers) {
    const std::size_t index = model_.initializer_of.at(name);
    if (!model_.initializers[index].is_external) continue;
    options.external_names.emplace_back(name);
    options.external.push_back(&constant(index));
  }
  return options;
}

// The engine for the whole model that gives these values. The one before is kept if it does.
const Engine& Network::find_engine(std::span<const std::string_view> values) {
  if (engine_ && std::ranges::equal(engine_values_, values)) return *engine_;
  engine_.reset();
  std::vector<std::string_view> more;
  for (const std::string_view name : values)
    if (!is_model_output(model_, name)) more.push_back(name);
  std::vector<std::string_view> all;
  for (const StoredTensor& tensor : model_.initializers) all.push_back(tensor.name);
  const std::size_t size = bytes_.size();
  bytes_ += encode_more_outputs(more);
  const std::string_view bytes = bytes_;
  struct Restore {
    std::string& bytes;
    std::size_t size;
    ~Restore() { bytes.resize(size); }
  } const restore{bytes_, size};
  engine_ = std::make_unique<Engine>(runtime_, bytes, engine_options(all));
  engine_values_.assign(values.begin(), values.end());
  expected_ = engine_->find_outputs();
  return *engine_;
}

std::vector<Tensor> Network::run(opdump_session* session, std::span<const Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  if (inputs.size() != model_.inputs.size())
    throw Failure("the model has " + std::to_string(model_.inputs.size()) + " inputs; " +
                  std::to_string(inputs.size()) + " are given");
  failed_.reset();
  Values values = begin_values(inputs);
  Work work = all_work(session);
  plan(work, inputs);
  try {
    run_all(work, inputs, values);
  } catch (const Failure& failure) {
    tell_failing(std::move(work), inputs, failure);
  }
  return take_outputs(values);
}

Network::Values Network::begin_values(std::span<const Tensor> inputs) const {
  Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor& tensor = values[model_.inputs[i].name];
    tensor.dtype = inputs[i].dtype;
    tensor.element_type = inputs[i].element_type;
    tensor.dims = inputs[i].dims;
    tensor.data = inputs[i].data;
    tensor.bytes = inputs[i].bytes;
    tensor.content = next_content();
  }
  return values;
}

void Network::define(opdump_session* session) {
  operators_.assign(model_.nodes.size(), nullptr);
  if (!session) return;
  if (options_.graph_id != OPDUMP_NO_GRAPH) {
    opdump_graph_info graph{};
    graph.size = sizeof graph;
    graph.graph_id = options_.graph_id;
    graph.name = model_.graph_name.c_str();
    graph.file_name = options_.file_name.empty() ? nullptr : options_.file_name.c_str();
    std::vector<std::uint64_t> outputs;
    for (const NamedValue& output : model_.outputs) outputs.push_back(number_of(output.name).second);
    graph.outputs = outputs.data();
    graph.output_count = outputs.size();
    opdump_define_graph(session, &graph);
  }
  for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
    const std::string type(options_.operator_type.empty() ? model_.nodes[i].type : options_.operator_type);
    std::vector<const char*> originals;
    if (options_.as_executed)
      for (const std::string& name : original_names_[i]) originals.push_back(name.c_str());
    originals.reserve(originals.size() + 1);  // an array also if there are none
    const Origin origin = find_origin(model_.nodes[i].message);
    std::vector<const char*> frames;
    for (const std::string& frame : origin.frames) frames.push_back(frame.c_str());
    opdump_op_info info{};
    info.size = sizeof info;
    info.type = type.c_str();
    info.source_file = origin.source_file.empty() ? nullptr : origin.source_file.c_str();
    info.source_line = origin.source_line;
    info.frames = frames.empty() ? nullptr : frames.data();
    info.frame_count = frames.size();
    info.module = origin.module.empty() ? nullptr : origin.module.c_str();
    info.name = model_.nodes[i].name.c_str();
    info.graph_id = options_.graph_id;
    info.task = first_task_ == 0 ? 0 : first_task_ + i;
    info.original_names = options_.as_executed ? originals.data() : nullptr;
    info.original_count = options_.as_executed ? originals.size() : 0;
    operators_[i] = opdump_define(session, &info);
  }
}

Network::Work Network::all_work(opdump_session* session) {
  define(session);
  Work work{session, {}, 0, model_.nodes.size(), {}};
  for (const opdump_op* op : operators_) work.wants.push_back(opdump_wants(session, op));
  for (const NamedValue& output : model_.outputs) work.keep.push_back(output.name);
  return work;
}

// The values that have to be there at some time: those to be kept, and those of operators whose data is
// wanted.
std::vector<std::string_view> Network::find_needed(const Work& work) const {
  std::set<std::string_view> needed;
  for (std::size_t i = 0; i < work.end; ++i) {
    const Node& node = model_.nodes[i];
    const bool is_dumped = i >= work.first && !is_no_task(node);
    for (const std::string_view name : node.outputs)
      if (!name.empty() && ((is_dumped && work.has(i, OPDUMP_WANTS_OUTPUTS)) || work.keeps(name)))
        needed.insert(name);
    if (!is_dumped || !work.has(i, OPDUMP_WANTS_INPUTS)) continue;
    for (const std::string_view name : node.inputs)
      if (model_.producers.contains(name)) needed.insert(name);
  }
  return {needed.begin(), needed.end()};
}

void Network::run_all(Work& work, std::span<const Tensor> inputs, Values& values) {
  if (plan_.parts.empty() || work.end < model_.nodes.size()) run_whole(work, inputs, values);
  for (std::size_t i = 0; i < plan_.parts.size() && work.end == model_.nodes.size(); ++i) {
    run_part(i, values);
    report_until(plan_.parts[i].end, work, values);
    let_go(i, work, values);
  }
  report_until(work.end, work, values);
}

void Network::run_whole(const Work& work, std::span<const Tensor> inputs, Values& values) {
  const std::vector<std::string_view> needed = find_needed(work);
  std::vector<Tensor> results;
  if (work.end < model_.nodes.size()) {
    results = run_ancestors(work.end, needed, inputs);
  } else {
    std::vector<const Tensor*> feeds;
    for (const Tensor& input : inputs) feeds.push_back(&input);
    const std::vector<std::string> names(needed.begin(), needed.end());
    results = find_engine(needed).run(input_names_, feeds, names);
  }
  for (std::size_t i = 0; i < needed.size(); ++i) values[needed[i]] = std::move(results[i]);
}

// Runs what `outputs` depend on among the first `node_end` operators.
std::vector<Tensor> Network::run_ancestors(std::size_t node_end, std::span<const std::string_view> outputs,
                                           std::span<const Tensor> inputs) {
  if (outputs.empty()) return {};
  const std::vector<std::size_t> nodes = find_ancestors(model_, node_end, outputs);
  const std::string part = encode_part(model_, nodes, outputs);
  const ModelFile file = read_model(part);
  std::vector<std::string_view> used;
  for (const StoredTensor& tensor : file.initializers) used.push_back(tensor.name);
  EngineOptions options = engine_options(used);
  options.returns_memory = true;
  const Engine engine(runtime_, part, options);
  std::vector<const Tensor*> feeds;
  for (const Tensor& input : inputs) feeds.push_back(&input);
  const std::vector<std::string> names(outputs.begin(), outputs.end());
  return engine.run(input_names_, feeds, names);
}

void Network::report_until(std::size_t end, Work& work, const Values& values) {
  for (; work.first < end; ++work.first)
    if (work.has(work.first, OPDUMP_WANTS_CALL)) report(work, work.first, values, false);
}

// The number of a value in the graph, with its name as it is kept.
const std::pair<const std::string, std::uint64_t>& Network::number_of(std::string_view name) {
  return *numbers_.emplace(std::string(name), numbers_.size() + 1).first;
}

opdump_tensor Network::describe(std::string_view name, std::uint32_t index, const Values& values) {
  opdump_tensor result{};
  result.size = sizeof result;
  result.index = index;
  const auto& [known_name, number] = number_of(name);
  result.value = number;
  const auto initializer = model_.initializer_of.find(name);
  const auto value = values.find(name);
  if (initializer == model_.initializer_of.end() && value == values.end()) {
    result.undumped = "no value";
    return result;
  }
  const bool is_weight = initializer != model_.initializer_of.end();
  const Tensor& tensor = is_weight ? constant(initializer->second) : value->second;
  if (is_weight || !model_.producers.contains(name)) result.name = known_name.c_str();
  result.role = is_weight ? OPDUMP_WEIGHT : OPDUMP_INPUT;
  result.dtype = tensor.dtype;
  result.rank = static_cast<std::uint32_t>(tensor.dims.size());
  result.shape = tensor.dims.data();
  result.data = tensor.data;
  result.content = tensor.content;
  result.owner = tensor.held.get();
  result.undumped = tensor.undumped;
  if (!tensor.undumped && tensor.dtype == OPDUMP_DTYPE_UNDEFINED)
    result.undumped = element_type(tensor.element_type).name;
  if (const auto blocking = blocked_.find(name); blocking != blocked_.end() && result.data)
    unblock(tensor, blocking->second, result);
  return result;
}

// What was recorded of the same bytes before was in this form too: the number of the contents stays.
void Network::unblock(const Tensor& tensor, const Blocking& blocking, opdump_tensor& result) {
  auto restored = restore(tensor, blocking, block_);
  if (!restored) {
    result.undumped = kBlocked;
    result.data = nullptr;
    return;
  }
  const Restored& kept = restored_.emplace_back(std::move(*restored));
  result.rank = static_cast<std::uint32_t>(kept.dims.size());
  result.shape = kept.dims.data();
  result.data = kept.bytes.data();
  result.owner = nullptr;
}

void Network::report(const Work& work, std::size_t index, const Values& values, bool failed) {
  const Node& node = model_.nodes[index];
  restored_.clear();
  const auto describe_all = [&](const std::vector<std::string_view>& names, int want) {
    std::vector<opdump_tensor> tensors;
    if (!work.has(index, want)) return tensors;
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      tensors.push_back(describe(names[i], i, values));
      if (!is_no_task(node)) continue;
      tensors.back().undumped = kNoTask;  // the recorder only learns that it is there
      tensors.back().data = nullptr;
    }
    return tensors;
  };
  const std::vector<opdump_tensor> inputs = describe_all(node.inputs, OPDUMP_WANTS_INPUTS);
  const std::vector<opdump_tensor> outputs = describe_all(node.outputs, OPDUMP_WANTS_OUTPUTS);
  opdump_call* call = opdump_begin(work.session, operators_[index], inputs.data(), inputs.size());
  if (work.has(index, OPDUMP_WANTS_ARGUMENTS)) {
    const Attributes attributes(node.message, model_.function_of(node));
    opdump_set_arguments(work.session, call, attributes.arguments().data(), attributes.arguments().size());
  }
  opdump_end(work.session, call, outputs.data(), failed ? 0 : outputs.size(), failed);
}

std::vector<Tensor> Network::take_outputs(Values& values) {
  std::vector<Tensor> outputs;
  for (const NamedValue& output : model_.outputs) {
    Tensor& to = outputs.emplace_back();
    const auto initializer = model_.initializer_of.find(output.name);
    if (initializer == model_.initializer_of.end()) {
      to = std::move(values[output.name]);
      continue;
    }
    const Tensor& from = constant(initializer->second);
    to.dtype = from.dtype;
    to.element_type = from.element_type;
    to.dims = from.dims;
    to.data = from.data;
    to.bytes = from.bytes;
  }
  return outputs;
}

}  // namespace opdump::onnx
