// What msaccucmp says when it puts the files of an operator in order: which names do not say when they were
// written, or which slice they are. Files whose names are numbers are looked up in mapping.csv here, and are
// not spoken of.
#pragma once

#include <string>

#include "msaccucmp/log.h"
#include "msaccucmp/read/dump_folder.h"

namespace opdump::msaccucmp {

// Of an operator between two runs of the accelerator: also its last file, of which the time counts.
void warn_of_times(const OperatorFiles& files, Log& log);

// "[op] [Offline] ['a', 'b']", and what several files leave open.
void report_files(const DumpFolder& folder, const std::string& op, const OperatorFiles& files, Log& log);

}  // namespace opdump::msaccucmp
