# Completion of sunstar for bash: the command itself tells what may stand at the cursor.
_sunstar() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() word trimmed i
    # Bash splits words at = and :, which belong to our words: glue what has no blank between.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$trimmed
        if ((i == 0)) || [[ $trimmed != "$rest" ]]; then
            words+=("$word")
        else
            words[${#words[@]} - 1]+=$word
        fi
        rest=${trimmed#"$word"}
    done
    local current=${words[${#words[@]} - 1]} command=${words[0]/#\~\//$HOME/}
    # Readline replaces only what follows the last = or :.
    local kept=${current%"${current##*[=:]}"} line text
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files\ * | :folders\ *)
            text=${line#:* }
            local before=${current%"$text"} action=-f
            [[ $line == :folders* ]] && action=-d
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do
                word=$before$word
                COMPREPLY+=("${word#"$kept"}")
            done < <(compgen "$action" -- "$text")
            ;;
        *)
            word=${line%%$'\t'*}
            [[ $word == *= ]] && compopt -o nospace 2>/dev/null
            COMPREPLY+=("${word#"$kept"}")
            ;;
        esac
    done < <("$command" complete -- "${words[@]}" 2>/dev/null)
}
complete -F _sunstar sunstar
