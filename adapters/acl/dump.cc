#include "dump.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "failure.h"
#include "opdump/opdump_onnxruntime.h"
#include "opdump/run_environment.h"

namespace opdump::acl {
namespace {

// Hands a part of a file to the program, in pieces of at most 64 MiB.
int pass_chunk(void* user, const opdump_file_chunk* chunk) {
  const auto callback = reinterpret_cast<DumpCallback>(user);
  constexpr std::uint64_t kPiece = std::uint64_t{64} << 20;
  std::uint64_t done = 0;
  do {
    const std::uint64_t size = std::min(kPiece, chunk->byte_count - done);
    std::vector<unsigned char> memory(sizeof(acldumpChunk) + size);
    auto* piece = reinterpret_cast<acldumpChunk*>(memory.data());
    std::strncpy(piece->fileName, chunk->path, sizeof piece->fileName - 1);
    piece->bufLen = static_cast<std::uint32_t>(size);
    piece->isLastChunk = chunk->is_last && done + size == chunk->byte_count;
    piece->offset = chunk->offset < 0 ? -1 : chunk->offset + static_cast<std::int64_t>(done);
    if (size > 0)  // behind the last member; the size of the struct is a little more
      std::memcpy(memory.data() + offsetof(acldumpChunk, dataBuf),
                  static_cast<const unsigned char*>(chunk->data) + done, size);
    if (const int failed = callback(piece, static_cast<std::int32_t>(memory.size())); failed != 0)
      return failed;
    done += size;
  } while (done < chunk->byte_count);
  return 0;
}

int drop_chunk(void*, const opdump_file_chunk*) { return 0; }

opdump_options make_options(const std::string& path, const char* text) {
  opdump_options options{};
  options.size = sizeof options;
  options.config_path = path.c_str();
  options.config_text = text;
  options.dialect = "acl";
  options.existing = OPDUMP_EXISTING_ORIGINAL;
  return options;
}

using Lines = std::set<std::string>;

void note_log(void* lines, int, const char* line) { static_cast<Lines*>(lines)->insert(line); }

// What was said of the configuration when it was checked is not said again by the recording of each device.
void write_new_log(void* said, int level, const char* line) {
  if (!static_cast<const Lines*>(said)->contains(line)) write_log(nullptr, level, line);
}

// Opens with files going nowhere, so that nothing is created. `root` is empty if nothing is asked for;
// `warnings` are those of the configuration.
aclError check_config(const std::string& path, const char* text, std::string& root, Lines& warnings) {
  opdump_options options = make_options(path, text);
  options.write_file = drop_chunk;
  Lines lines;
  options.log = note_log;
  options.log_user = &lines;
  opdump_session* session = nullptr;
  if (opdump_open(&options, &session) != OPDUMP_OK) {
    const int code = opdump_last_error_code();
    return fail(code != 0 ? code : ACL_ERROR_INTERNAL_ERROR, opdump_last_error());
  }
  root = opdump_directory(session);
  warnings = lines;  // closing says how much was dumped, which is nothing
  opdump_close(session);
  return ACL_SUCCESS;
}

// Of a configuration that dumps something. If it does not say what, the environment does, and that can only
// ask for exceptions (cann.md 1.4).
bool waits_for_failures(const std::string& text) {
  const auto config = nlohmann::json::parse(text, nullptr, false, true);
  if (!config.is_object() || !config.contains("dump")) return true;
  const nlohmann::json& dump = config["dump"];
  const auto has = [&](const char* key, const char* value) {
    return dump.contains(key) && dump[key] == value;
  };
  if (dump.contains("dump_scene")) return !has("dump_scene", "watcher");
  return !dump.contains("dump_list") && !has("dump_debug", "on") && !has("dump_op_switch", "on");
}

}  // namespace

// What is checked is what is used.
aclError Dump::read(const char* path, DumpCallback callback, std::shared_ptr<Dump>& dump) {
  std::string root;
  Lines warnings;
  if (const aclError code = check_config(path, nullptr, root, warnings); code != ACL_SUCCESS) return code;
  std::ifstream file(path, std::ios::binary);
  return make(path, std::string(std::istreambuf_iterator<char>(file), {}), callback, dump);
}

aclError Dump::make(std::string path, std::string text, DumpCallback callback, std::shared_ptr<Dump>& dump) {
  dump.reset();
  std::string root;
  Lines warnings;
  if (const aclError code = check_config(path, text.c_str(), root, warnings); code != ACL_SUCCESS)
    return code;
  for (const std::string& line : warnings) write_log(nullptr, OPDUMP_LOG_WARNING, line.c_str());
  if (root.empty()) return ACL_SUCCESS;
  dump.reset(new Dump);
  dump->is_exception_ = waits_for_failures(text);
  dump->path_ = std::move(path);
  dump->text_ = std::move(text);
  dump->root_ = std::move(root);
  dump->callback_ = callback;
  dump->said_ = std::move(warnings);
  return ACL_SUCCESS;
}

std::string Dump::directory(std::int32_t device) const {
  return is_exception_ ? root_ + "/extra-info/data-dump/" + std::to_string(device) + "/" : root_;
}

opdump_session* Dump::find_session(std::int32_t device) {
  if (closed_) return nullptr;
  const auto [found, is_new] = sessions_.emplace(device, nullptr);
  if (!is_new) return found->second;
  opdump_options options = make_options(path_, text_.c_str());
  opdump_onnx_prepare(&options);
  options.device_id = device;
  options.log = write_new_log;
  options.log_user = &said_;
  if (callback_) {
    options.write_file = pass_chunk;
    options.write_file_user = reinterpret_cast<void*>(callback_);
  }
  // The program runs on without a dump if it cannot be made, as it would with any other loss.
  if (opdump_open(&options, &found->second) != OPDUMP_OK)
    write_log(nullptr, OPDUMP_LOG_WARNING, opdump_last_error());
  report_to_run(found->second ? '+' : '!');
  return found->second;
}

void Dump::close_sessions() {
  for (const auto& [device, session] : sessions_) {
    if (opdump_close(session) != OPDUMP_OK) write_log(nullptr, OPDUMP_LOG_WARNING, opdump_last_error());
    if (session) report_to_run('-');
  }
  sessions_.clear();
  skipped_.clear();
}

void Dump::set_callback(DumpCallback callback) {
  const std::lock_guard lock(mutex_);
  close_sessions();
  callback_ = callback;
}

void Dump::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  close_sessions();
}

}  // namespace opdump::acl
