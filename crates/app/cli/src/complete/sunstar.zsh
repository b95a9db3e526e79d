#compdef sunstar
# Completion of sunstar for zsh: the command itself tells what may stand at the cursor.
_sunstar() {
    local line text name
    local -a typed names open
    typed=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    for line in "${(@f)$("${typed[1]/#\~\//$HOME/}" complete -- "${(@)typed}" 2>/dev/null)}"; do
        case $line in
        (:files *|:folders *)
            text=${line#:* }
            local before=${typed[-1]%"$text"}
            compset -P "${(b)before}"
            if [[ $line == :folders* ]]; then _files -/; else _files; fi
            PREFIX=$before$PREFIX IPREFIX=${IPREFIX%"$before"}
            ;;
        ('') ;;
        (*)
            name=${line%%$'\t'*}
            text=${line#*$'\t'}
            if [[ $name == *= ]]; then
                open+=("${name//:/\\:}:$text")
            else
                names+=("${name//:/\\:}:$text")
            fi
            ;;
        esac
    done
    (( ${#names} )) && _describe -t names 'name' names
    (( ${#open} )) && _describe -t names 'name' open -S ''
    return 0
}
if [[ $funcstack[1] == _sunstar ]]; then
    _sunstar "$@"
else
    compdef _sunstar sunstar
fi
