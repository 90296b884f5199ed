# cairn.cmake: instruments CMake projects with cairn, or builds them by a profile.
#
# For a whole project, without changes to it (CMake 3.21 or later):
#
#   cmake -B out -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=/path/to/cairn.cmake -DCAIRN_MODE=full
#
# (CMake 3.24 or later; before, -DCMAKE_PROJECT_INCLUDE=/path/to/cairn.cmake.) For single targets, in a
# CMakeLists.txt:
#
#   include(/path/to/cairn.cmake)
#   cairn_instrument(app MODE spike FLAGS --threshold 5ms)
#
# and for a target that writes coverage from the raw files of tests:
#
#   cairn_coverage(coverage TARGET app RAWS ${CMAKE_BINARY_DIR}/raws FORMAT cobertura OUTPUT coverage.xml)
#
# Variables:
#   CAIRN          the program, found on PATH
#   CAIRN_MODE     instrument all targets in this mode (cover, block, count, full, spike, trace, ...)
#   CAIRN_USE      build all targets by this profile, a .mip file
#   CAIRN_FLAGS    more flags of cairn cc, a list
cmake_minimum_required(VERSION 3.21)
include_guard(GLOBAL)

find_program(CAIRN cairn REQUIRED DOC "The program cairn")
set(CAIRN_MODE "" CACHE STRING "Instrument all targets in this mode of cairn cc")
set(CAIRN_USE "" CACHE FILEPATH "Build all targets by this profile of cairn")
set(CAIRN_FLAGS "" CACHE STRING "More flags of cairn cc")

# _cairn_launcher(VAR MODE USE FLAGS...) sets VAR to what to put in front of a compiler.
function(_cairn_launcher var mode use)
  set(launcher "${CAIRN};cc")
  if(mode AND use)
    message(FATAL_ERROR "cairn: a mode (${mode}) and a profile (${use}) cannot be used together")
  endif()
  if(mode)
    list(APPEND launcher --mode "${mode}")
  endif()
  if(use)
    if(NOT EXISTS "${use}")
      message(FATAL_ERROR "cairn: the profile ${use} does not exist")
    endif()
    list(APPEND launcher --use "${use}")
  endif()
  list(APPEND launcher ${ARGN})
  set(${var} "${launcher}" PARENT_SCOPE)
endfunction()

if(CAIRN_MODE OR CAIRN_USE)
  _cairn_launcher(_cairn_all "${CAIRN_MODE}" "${CAIRN_USE}" ${CAIRN_FLAGS})
  foreach(_cairn_language C CXX Fortran)
    set(CMAKE_${_cairn_language}_COMPILER_LAUNCHER "${_cairn_all}")
    set(CMAKE_${_cairn_language}_LINKER_LAUNCHER "${_cairn_all}")
  endforeach()
endif()

# cairn_instrument(TARGET [MODE mode | USE profile] [FLAGS flag...]) instruments one target, or builds it by
# a profile.
function(cairn_instrument target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODE;USE" "FLAGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cairn_instrument: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  _cairn_launcher(launcher "${arg_MODE}" "${arg_USE}" ${arg_FLAGS})
  foreach(language C CXX Fortran)
    set_target_properties(${target} PROPERTIES ${language}_COMPILER_LAUNCHER "${launcher}" ${language}_LINKER_LAUNCHER "${launcher}")
  endforeach()
endfunction()

# cairn_coverage(NAME TARGET target RAWS directory OUTPUT file [FORMAT format] [FLAGS flag...]) adds a target NAME that
# merges the raw files in a directory into NAME.mip, and writes the coverage of source lines.
function(cairn_coverage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;RAWS;OUTPUT;FORMAT" "FLAGS")
  foreach(needed TARGET RAWS OUTPUT)
    if(NOT arg_${needed})
      message(FATAL_ERROR "cairn_coverage: ${needed} is missing")
    endif()
  endforeach()
  if(NOT arg_FORMAT)
    set(arg_FORMAT cobertura)
  endif()
  set(profile "${CMAKE_CURRENT_BINARY_DIR}/${name}.mip")
  add_custom_target(${name}
    COMMAND "${CAIRN}" merge -o "${profile}" "$<TARGET_FILE:${arg_TARGET}>" "${arg_RAWS}"
    COMMAND "${CAIRN}" covered "${profile}" --debug "$<TARGET_FILE:${arg_TARGET}>" --format ${arg_FORMAT} ${arg_FLAGS} -o "${arg_OUTPUT}"
    DEPENDS ${arg_TARGET}
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    VERBATIM)
endfunction()
