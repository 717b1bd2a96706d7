# The pages of `report` and `view`, built from web/ by npm's packages and put into the program. A source archive has them built. Without
# npm, or where it does not reach its registry, everything else is built, and the two verbs say what is missing.
set(OPDUMP_PAGE_SOURCE src/result/no_page.cc)
if(OPDUMP_PAGES AND EXISTS ${PROJECT_SOURCE_DIR}/web/built/page_asset.cc)
  set(OPDUMP_PAGE_SOURCE web/built/page_asset.cc)
elseif(OPDUMP_PAGES)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS web/package-lock.json)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/build_web.sh --packages
    RESULT_VARIABLE failed OUTPUT_VARIABLE OPDUMP_WEB_PACKAGES ERROR_VARIABLE reason OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    string(STRIP "${reason}" reason)
    message(STATUS "The pages of opdump report and view are left out: ${reason}")
  else()
    set(OPDUMP_PAGE_SOURCE ${CMAKE_BINARY_DIR}/pages/page_asset.cc)
    list(TRANSFORM OPDUMP_WEB_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/web/)
    add_custom_command(OUTPUT ${OPDUMP_PAGE_SOURCE}
      COMMAND ${PROJECT_SOURCE_DIR}/tools/build_web.sh ${CMAKE_BINARY_DIR}/pages
      DEPENDS ${OPDUMP_WEB_SOURCES} ${PROJECT_SOURCE_DIR}/tools/build_web.sh
      COMMENT "Building the pages of web/" VERBATIM)
  endif()
endif()
