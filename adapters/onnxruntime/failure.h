// The exception of this adapter. Inside the adapter errors are exceptions, like protozero's. The C interface
// (door.cc) catches all of them.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "opdump/opdump.h"

namespace opdump::onnx {

class Failure : public std::runtime_error {
 public:
  explicit Failure(std::string message, opdump_status status = OPDUMP_ERROR_ARGUMENT)
      : std::runtime_error(std::move(message)), status_(status) {}
  opdump_status status() const { return status_; }

 private:
  opdump_status status_;
};

}  // namespace opdump::onnx
