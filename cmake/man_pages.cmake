# Manual pages of the program and of its verbs, from the text of --help. Run as
#   cmake -DOPDUMP=PROGRAM -DFOLDER=man1 -P man_pages.cmake
cmake_minimum_required(VERSION 3.18)

# The text as it is: no filling, no escapes. A hyphen stays one that can be copied.
function(write_page name summary text)
  string(REPLACE "-" "\\-" roff_name "${name}")
  string(TOUPPER "${name}" title)
  file(WRITE "${FOLDER}/${name}.1" ".TH ${title} 1 \"\" \"${version}\" \"opdump\"\n.SH NAME\n${roff_name} \\- ${summary}\n.SH DESCRIPTION\n.nf\n.tr -\\-\n.eo\n${text}.ec\n.fi\n")
endfunction()

function(ask variable)
  execute_process(COMMAND "${OPDUMP}" ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "opdump ${ARGN} ended with ${status}")
  endif()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY "${FOLDER}")
ask(version --version)
string(REGEX MATCH "^[^\n]+" version "${version}")
ask(help --help)
string(REGEX MATCH "^[^\n]+" summary "${help}")
write_page(opdump "${summary}" "${help}")
string(REGEX MATCHALL "\n  [a-z]+ +[A-Z][^\n]+" rows "${help}")
foreach(row IN LISTS rows)
  string(REGEX MATCH "\n  ([a-z]+) +(.+)$" row "${row}")
  set(verb "${CMAKE_MATCH_1}")
  set(summary "${CMAKE_MATCH_2}")
  ask(text ${verb} --help)
  write_page(opdump-${verb} "${summary}" "${text}")
endforeach()
